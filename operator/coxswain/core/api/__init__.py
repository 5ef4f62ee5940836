"""The two resources as frozen typed values: parsed once at the edge, trusted from then on.

`parse` turns a manifest (a mapping as YAML or the API server gives it) into a `TrainingJob` or a `TrainingExperiment`
with every default filled in, or raises an InputError whose sentence says what to change. The hand-written CRDs in
`crds/` are the contract; defaults, bounds and rules here are the same ones, so that what a server accepts parses, and
what parses without a cluster would be accepted by one. Tests hold the two together, case by case.

    values      durations, quantities and the base of all models
    job         TrainingJob
    design      factors and designs
    experiment  TrainingExperiment
    fields      which fields of a job a factor may set, and how
    parsing     parse, and how an error becomes a sentence
"""

from coxswain.core.api.experiment import TrainingExperiment
from coxswain.core.api.job import TrainingJob
from coxswain.core.api.parsing import parse, parse_experiment, parse_job

__all__ = ["TrainingExperiment", "TrainingJob", "parse", "parse_experiment", "parse_job"]
