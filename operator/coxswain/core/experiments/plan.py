"""The plan of an experiment: its design and runs, or those of its search so far.

A design follows from the spec alone. A search follows from the spec and from what was begun: what the ledger has
observed, and the jobs that exist, each of which says which row it is and with which settings.
"""

from collections.abc import Iterable, Iterator, Mapping

from coxswain.core.api import TrainingExperiment
from coxswain.core.designs.from_spec import design_of
from coxswain.core.errors import InputError
from coxswain.core.expand import expand
from coxswain.core.experiments.view import Plan
from coxswain.core.jobs.entries import run_of
from coxswain.core.jobs.view import Job
from coxswain.core.ledger.entry import Entry
from coxswain.core.search import Begun, plan_search


def plan_design(experiment: TrainingExperiment) -> Plan | str:
    """The plan of a design; a sentence where the spec allows none."""
    try:
        design = design_of(experiment.spec)
        return Plan(design, expand(experiment, design))
    except InputError as error:
        return str(error)


def plan_course(experiment: TrainingExperiment, entries: Mapping[str, Entry], jobs: Iterable[Job]) -> Plan | str:
    """The plan of a search, from its entries in the ledger by the names of their jobs, and from its jobs that exist."""
    try:
        search = plan_search(experiment, _begun(entries, jobs))
        return Plan(search.design, search.runs, search)
    except InputError as error:
        return str(error)


def _begun(entries: Mapping[str, Entry], jobs: Iterable[Job]) -> Iterator[Begun]:
    for entry in entries.values():
        seen = entry.observation
        yield Begun(seen.row, seen.replicate, seen.settings, seen, excluded=entry.excluded is not None)
    for job in jobs:
        if job.name not in entries:
            run = run_of(job)
            yield Begun(run.row, run.replicate, run.settings)
