"""What may still change once a job has started or an experiment has begun, and what may not."""

from tests.contract.cases import Transition
from tests.contract.manifests import (
    EXPERIMENT,
    LEFT_OUT,
    MINIMAL_EXPERIMENT,
    MINIMAL_JOB,
    OPTIMAL_EXPERIMENT,
    SEARCH_EXPERIMENT,
    SPARK_JOB,
    TORCH_JOB,
    changed,
)

_STARTED = {"startedParameters": {"epochs": 20, "batchSize": 64}}
_BEGUN = {"designHash": f"sha256:{0:064}"}
_JOB_FIXED = (
    "the job has started; only priority, deadline, suspend, activeDeadlineSeconds and ttlSecondsAfterFinished "
    "may still change"
)
_DESIGN_FIXED = (
    "the design is fixed once the experiment has begun; of factors, design, template and arrivals only "
    "design.replications may still change"
)
_REPLICATIONS = "once the experiment has begun replications may only be raised, and only in a design without blocks"

TRANSITIONS = (
    *(
        Transition(f"a started job's {next(iter(change))}", base, _STARTED, change, _JOB_FIXED)
        for base, change in (
            (SPARK_JOB, {"engine": "Torch", "workload": {}, "resources": {}, "adjust": LEFT_OUT, "steered": LEFT_OUT}),
            (TORCH_JOB, {"workload.network": "vit"}),
            (TORCH_JOB, {"parameters.epochs": 21}),
            (TORCH_JOB, {"parameters.extra": [{"name": "dropout", "value": "0.3"}]}),
            (TORCH_JOB, {"resources.workers": 3}),
            (TORCH_JOB, {"data.path": "other"}),
            (TORCH_JOB, {"data": LEFT_OUT}),
            (TORCH_JOB, {"output": LEFT_OUT}),
            (MINIMAL_JOB, {"output": {"claim": "models"}}),
            (TORCH_JOB, {"queueName": "other"}),
            (TORCH_JOB, {"adjust.0.max": 999}),
            (TORCH_JOB, {"steering.mode": "Disabled"}),
            (TORCH_JOB, {"steered.epochs": 13}),
            (TORCH_JOB, {"steered": LEFT_OUT}),
            (TORCH_JOB, {"startTimeoutSeconds": 61}),
            (TORCH_JOB, {"maxRetries": 2}),
            (TORCH_JOB, {"nodeSelector": {}}),
            (TORCH_JOB, {"tolerations": []}),
            (TORCH_JOB, {"priorityClassName": "high"}),
            (TORCH_JOB, {"imagePullSecrets": []}),
        )
    ),
    *(
        Transition(f"a started job's {next(iter(change))} may change", TORCH_JOB, _STARTED, change, None)
        for change in (
            {"priority": 4},
            {"deadline": {"within": "20m"}},
            {"deadline": LEFT_OUT},
            {"suspend": False},
            {"activeDeadlineSeconds": 7200},
            {"ttlSecondsAfterFinished": LEFT_OUT},
        )
    ),
    Transition("a pending job's parameters may change", TORCH_JOB, {}, {"parameters.epochs": 21}, None),
    *(
        Transition(f"a begun experiment's {next(iter(change))}", base, _BEGUN, change, _DESIGN_FIXED)
        for base, change in (
            (EXPERIMENT, {"factors.0.levels": [0.5, 2]}),
            (EXPERIMENT, {"template.spec.workload.dataset": "mnist"}),
            (EXPERIMENT, {"arrivals": LEFT_OUT}),
            (EXPERIMENT, {"design.generators": ["D=AB", "E=BC"]}),
            (EXPERIMENT, {"design.generators": LEFT_OUT, "design.resolution": 3}),
            (EXPERIMENT, {"design.order": "Standard"}),
            (EXPERIMENT, {"design.seed": 43}),
            (EXPERIMENT, {"design.foldOver": "All"}),
            (changed(MINIMAL_EXPERIMENT, {"design.type": "CentralComposite"}), {"design.inscribed": True}),
            (EXPERIMENT, {"design.centerPoints": 1}),
            (EXPERIMENT, {"design.blocks": 2}),
            (OPTIMAL_EXPERIMENT, {"design.runs": 7}),
            (OPTIMAL_EXPERIMENT, {"design.model": "Quadratic"}),
            (OPTIMAL_EXPERIMENT, {"design.rows": LEFT_OUT}),
            (OPTIMAL_EXPERIMENT, {"design.exclude": LEFT_OUT}),
            (SEARCH_EXPERIMENT, {"design.type": "HillClimb"}),
            (SEARCH_EXPERIMENT, {"design.search.maxRuns": 13}),
            (MINIMAL_EXPERIMENT, {"design.type": "DefinitiveScreening"}),
        )
    ),
    Transition(
        "a begun experiment's replications cannot be lowered",
        EXPERIMENT,
        _BEGUN,
        {"design.replications": 2},
        _REPLICATIONS,
    ),
    Transition(
        "a begun experiment's replications cannot be raised where blocks divide them",
        changed(EXPERIMENT, {"design.blocks": 3}),
        _BEGUN,
        {"design.replications": 4},
        _REPLICATIONS,
    ),
    *(
        Transition(f"a begun experiment's {next(iter(change))} may change", EXPERIMENT, _BEGUN, change, None)
        for change in (
            {"design.replications": 4},
            {"parallelism": 3},
            {"suspend": True},
            {"maxFailedRuns": 4},
            {"budget": LEFT_OUT},
            {"learnFrom.configMap": "measured-again"},
            {"analysis.interactions": 1},
            {"ttlSecondsAfterFinished": 1},
        )
    ),
    Transition("an experiment that has not begun may change", EXPERIMENT, {}, {"design.seed": 43}, None),
)
