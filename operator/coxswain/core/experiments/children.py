"""The TrainingJobs of a run, as manifests. Their names follow from the design, so none can be created twice."""

import json
from datetime import datetime
from typing import Any

from coxswain.core.api.objects import owner_reference
from coxswain.core.api.parsing import API_VERSION
from coxswain.core.api.status import render_time
from coxswain.core.expand import PlannedRun
from coxswain.core.experiments.view import Experiment
from coxswain.core.jobs.view import EXPERIMENT_LABEL, RUN_ANNOTATION


def jobs_of(experiment: Experiment, run: PlannedRun, arrived: datetime | None) -> list[dict[str, Any]]:
    """The jobs of a run; `arrived` is when the run joined the queue, where runs arrive by themselves."""
    metadata = experiment.parsed.spec.template.metadata
    told = {
        "run": run.name,
        "row": run.row,
        "replicate": run.replicate,
        "block": run.block,
        "settings": dict(run.settings),
    }
    if arrived is not None:
        told["arrived"] = render_time(arrived)
    return [
        {
            "apiVersion": API_VERSION,
            "kind": "TrainingJob",
            "metadata": {
                "name": job.name,
                "namespace": experiment.namespace,
                "labels": {**((metadata and metadata.labels) or {}), EXPERIMENT_LABEL: experiment.name[:63]},
                "annotations": {
                    **((metadata and metadata.annotations) or {}),
                    RUN_ANNOTATION: json.dumps(told, separators=(",", ":")),
                },
                "ownerReferences": [owner_reference("TrainingExperiment", experiment.name, experiment.uid)],
            },
            "spec": job.spec.model_dump(mode="json", by_alias=True, exclude_none=True),
        }
        for job in run.jobs
    ]
