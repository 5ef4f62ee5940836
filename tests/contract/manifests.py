"""Complete manifests to start from: every field of the schema is in one of them, and all of them are valid."""

from copy import deepcopy
from typing import Any

Manifest = dict[str, Any]

# In place of a value: the field is left out.
LEFT_OUT = object()

_COMMON_SPEC = {
    "parameters": {
        "epochs": 20,
        "batchSize": 1048576,
        "learningRate": 0.01,
        "optimizer": "Adam",
        "schedule": "Cosine",
        "seed": 7,
        "extra": [{"name": "dropout", "value": "0.2"}],
    },
    "data": {"claim": "images", "path": "fashion/train"},
    "output": {"claim": "models", "path": "mine"},
    "queueName": "default",
    "priority": 3,
    "deadline": {"within": "15m", "enforce": "Stop"},
    "steering": {
        "mode": "Auto",
        "confidencePercent": 95,
        "objective": "Accuracy",
        "whenInfeasible": "Hold",
        "coldStart": "Probe",
        "explorePercent": 5,
    },
    "activeDeadlineSeconds": 3600,
    "startTimeoutSeconds": 60,
    "maxRetries": 1,
    "ttlSecondsAfterFinished": 86400,
    "suspend": True,
    "nodeSelector": {"cloud.google.com/machine-family": "n2"},
    "tolerations": [
        {"key": "spot", "operator": "Equal", "value": "true", "effect": "NoExecute", "tolerationSeconds": 60}
    ],
    "priorityClassName": "low",
    "imagePullSecrets": [{"name": "registry"}],
}

TORCH_JOB: Manifest = {
    "apiVersion": "coxswain.dev/v1alpha1",
    "kind": "TrainingJob",
    "metadata": {"name": "complete-torch"},
    "spec": {
        **_COMMON_SPEC,
        "engine": "Torch",
        "workload": {
            "type": "Custom",
            "network": "fashion-cnn",
            "dataset": "fashion-mnist",
            "samples": 6000,
            "strategy": "FederatedAveraging",
            "image": "example.com/mine:1",
            "command": ["python", "train.py"],
        },
        "resources": {
            "workers": 2,
            "processesPerWorker": 2,
            "coresPerWorker": "500m",
            "memoryPerWorker": "1Gi",
            "gpusPerWorker": 1,
        },
        "adjust": [
            {"field": "epochs", "min": 1, "max": 1000, "step": 1},
            {"field": "batchSize", "values": [1048576, 64]},
            {"field": "learningRate", "min": 0.001, "max": 1000},
            {"field": "workers", "min": 1, "max": 1001},
            {"field": "coresPerWorker", "values": [0.01, 0.5, 1024]},
        ],
        "steered": {"epochs": 12, "batchSize": 64, "learningRate": 0.5, "workers": 3, "coresPerWorker": 0.5},
    },
}

SPARK_JOB: Manifest = {
    "apiVersion": "coxswain.dev/v1alpha1",
    "kind": "TrainingJob",
    "metadata": {"name": "complete-spark"},
    "spec": {
        "engine": "Spark",
        "workload": {
            "type": "Ingest",
            "ingest": {"format": "Parquet", "batches": 4, "repetitions": 2, "partitions": 16, "cache": True},
        },
        "resources": {
            "spark": {"nodes": 2, "executorsPerNode": 2, "coresPerExecutor": "250m", "memoryPerExecutor": "512Mi"}
        },
        "data": {"url": "gs://bucket/images"},
        "deadline": {"at": "2030-01-31T18:00:00Z"},
        "adjust": [
            {"field": "nodes", "values": [1, 2, 1024]},
            {"field": "executorsPerNode", "min": 1, "max": 64},
            {"field": "coresPerExecutor", "values": [0.01, 0.5, 1024]},
        ],
        "steered": {"nodes": 2, "executorsPerNode": 1, "coresPerExecutor": 0.5},
    },
}

EXPERIMENT: Manifest = {
    "apiVersion": "coxswain.dev/v1alpha1",
    "kind": "TrainingExperiment",
    "metadata": {"name": "complete-experiment"},
    "spec": {
        "factors": [
            {"name": "cores", "field": "resources.coresPerWorker", "levels": [0.5, 1]},
            {"name": "workers", "field": "resources.workers", "levels": [1, 2]},
            {"name": "batch_size", "field": "parameters.batchSize", "levels": [32, 256], "coding": "Log"},
            {"name": "topology", "field": "workload.network", "categories": ["shallow-cnn", "deep-cnn"]},
            {"name": "epochs", "field": "parameters.epochs", "levels": [1, 3]},
        ],
        "design": {
            "type": "FractionalFactorial",
            "generators": ["D=AB", "E=-AC"],
            "replications": 3,
            "order": "Random",
            "seed": 42,
            "centerPoints": 0,
            "blocks": 1,
        },
        "template": {
            "metadata": {"labels": {"team": "vision"}, "annotations": {"note": "a note"}},
            "spec": {"workload": {"dataset": "digits"}, "resources": {"memoryPerWorker": "512Mi"}},
        },
        "parallelism": 2,
        "arrivals": {"type": "Poisson", "ratePerHour": 60, "seed": 1},
        "analysis": {
            "responses": [
                {"name": "duration"},
                {"name": "accuracy"},
                {"name": "cost", "expression": "duration / (100 * accuracy) ** 2"},
            ],
            "interactions": 2,
            "alpha": 0.05,
        },
        "budget": {"cost": 20, "duration": "4h"},
        "learnFrom": {"configMap": "measured", "key": "last-year.csv", "nodeType": "n2-standard-4"},
        "maxFailedRuns": 3,
        "suspend": False,
        "ttlSecondsAfterFinished": 86400,
    },
}

OPTIMAL_EXPERIMENT: Manifest = {
    "apiVersion": "coxswain.dev/v1alpha1",
    "kind": "TrainingExperiment",
    "metadata": {"name": "complete-optimal"},
    "spec": {
        "factors": [
            {"name": "batch_size", "field": "parameters.batchSize", "levels": [32, 64, 256]},
            {"name": "topology", "field": "workload.network", "categories": ["shallow-cnn", "deep-cnn"]},
        ],
        "design": {
            "type": "DOptimal",
            "runs": 6,
            "model": "Main",
            "rows": [{"settings": [{"name": "batch_size", "level": 32}, {"name": "topology", "category": "deep-cnn"}]}],
            "exclude": [
                {"settings": [{"name": "batch_size", "level": 256}, {"name": "topology", "category": "deep-cnn"}]}
            ],
        },
        "template": {"spec": {}},
        "arrivals": {"type": "Trace", "times": [0, 10]},
    },
}

SEARCH_EXPERIMENT: Manifest = {
    "apiVersion": "coxswain.dev/v1alpha1",
    "kind": "TrainingExperiment",
    "metadata": {"name": "complete-search"},
    "spec": {
        "factors": [{"name": "workers", "field": "resources.workers", "levels": [1, 8]}],
        "design": {
            "type": "BayesianOptimization",
            "search": {
                "minimize": "money",
                "maxRuns": 12,
                "stopWhenImprovementBelowPercent": 10,
                "limit": {"response": "duration", "atMost": 600},
                "recurrences": 100,
            },
        },
        "template": {"spec": {}},
        "analysis": {"responses": [{"name": "duration"}, {"name": "money"}]},
    },
}

MINIMAL_JOB: Manifest = {
    "apiVersion": "coxswain.dev/v1alpha1",
    "kind": "TrainingJob",
    "metadata": {"name": "minimal"},
    "spec": {},
}
MINIMAL_EXPERIMENT: Manifest = {
    "apiVersion": "coxswain.dev/v1alpha1",
    "kind": "TrainingExperiment",
    "metadata": {"name": "minimal"},
    "spec": {
        "factors": [{"name": "epochs", "field": "parameters.epochs", "levels": [1, 3]}],
        "design": {"type": "FullFactorial"},
        "template": {"spec": {}},
    },
}


def changed(manifest: Manifest, changes: dict[str, Any]) -> Manifest:
    """A manifest with fields of its spec set, by paths such as `adjust.0.min`; LEFT_OUT removes a field."""
    copy = deepcopy(manifest)
    for path, value in changes.items():
        *folders, leaf = [int(part) if part.isdigit() else part for part in path.split(".")]
        place: Any = copy["spec"]
        for folder in folders:
            place = place.setdefault(folder, {}) if isinstance(place, dict) else place[folder]
        if value is LEFT_OUT:
            del place[leaf]
        else:
            place[leaf] = value
    return copy


COMPLETE = (
    TORCH_JOB,
    SPARK_JOB,
    EXPERIMENT,
    OPTIMAL_EXPERIMENT,
    SEARCH_EXPERIMENT,
    changed(MINIMAL_EXPERIMENT, {"design": {"type": "FractionalFactorial", "resolution": 3, "foldOver": "All"}}),
    changed(MINIMAL_EXPERIMENT, {"design": {"type": "CentralComposite", "alpha": "Rotatable", "inscribed": True}}),
)
