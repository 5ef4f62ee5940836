"""What the built-in workers can train, by name: for those who have to refuse a job without having torch at hand."""

from coxswain.core.api.job import JobSpec

NETWORKS = ("fashion-cnn", "shallow-cnn", "deep-cnn", "bi-rnn", "mlp", "vit", "mobilenet")
DATASETS = ("digits", "fashion-mnist", "mnist", "folder", "synthetic")


def problem_of(spec: JobSpec) -> str | None:
    """Why no worker could run this job, as far as that is known beforehand; a job with its own image is its own."""
    workload = spec.workload
    if workload.image is not None:
        return None
    if workload.type == "Train" and workload.network not in NETWORKS:
        return f"there is no network {workload.network}; choose one of {', '.join(NETWORKS)}."
    if workload.dataset not in DATASETS:
        return f"there is no data set {workload.dataset}; choose one of {', '.join(DATASETS)}."
    return None
