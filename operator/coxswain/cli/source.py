"""What `cox plan`, `cox explain` and `cox whatif` look at: manifests in files, or the queue of a cluster."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coxswain.cli.cluster import ask
from coxswain.cli.manifest import documents
from coxswain.core.errors import InputError

if TYPE_CHECKING:
    from coxswain.core.cost import Prices
    from coxswain.core.jobs.view import Job
    from coxswain.core.ledger import Entry
    from coxswain.core.steering.scene import Situation

Jobs = Annotated[
    Path | None,
    typer.Argument(metavar="[FILE|DIR]", help="Manifests of TrainingJobs; by default those of the cluster."),
]
LearnFrom = Annotated[
    Path | None,
    typer.Option("--from", metavar="DIR|CSV", help="What was observed: the --out of cox run, or a table of runs."),
]
Cores = Annotated[
    float | None, typer.Option(metavar="N", help="Cores of the queue; by default what others leave of the nodes.")
]
Gpus = Annotated[
    int | None, typer.Option(metavar="N", help="GPUs of the queue; by default what others leave of the nodes.")
]
Price = Annotated[
    list[str] | None,
    typer.Option("--price", metavar="WHAT=X", help="Price of a core, gib or gpu an hour: core=0.05; repeatable."),
]
QueueName = Annotated[str | None, typer.Option("--queue", metavar="NAME", help="The queue; by default `default`.")]
Everywhere = Annotated[
    bool, typer.Option("--all-namespaces", "-A", help="The jobs of all namespaces, as the operator plans them.")
]
NodeType = Annotated[
    str | None, typer.Option(metavar="TYPE", help="With --from, only runs that were made on this type of node.")
]
_SUFFIXES = {".yaml", ".yml", ".json"}
_PRICES = {"core": "core_hour", "gib": "gib_hour", "gpu": "gpu_hour"}


@dataclass(frozen=True)
class Source:
    """Where to look, and what is given rather than found."""

    jobs: Path | None
    learn_from: Path | None
    queue: str | None
    cores: float | None
    gpus: int | None
    prices: "Prices"
    namespace: str | None = None
    everywhere: bool = False
    node_type: str | None = None

    def situation(self) -> "Situation":
        """The queue as it is found.

        Raises:
            InputError: in one sentence that names the file or the option to mend.
        """
        _require_not_negative("--cores", self.cores)
        _require_not_negative("--gpus", self.gpus)
        return self._in_cluster() if self.jobs is None else self._in_files(self.jobs)

    def _in_cluster(self) -> "Situation":
        if self.learn_from is not None or self.node_type is not None:
            raise InputError("--from and --node-type are for manifests in files; jobs of a cluster have its ledger.")

        async def look(cluster: Any, where: str) -> "Situation":
            from coxswain.shell.survey import Wanted, survey

            wanted = Wanted(self.queue or "default", self.cores, self.gpus, self.prices, self.everywhere)
            return await survey(cluster, where, wanted)

        return ask(self.namespace, look)

    def _in_files(self, path: Path) -> "Situation":
        from coxswain.core.families import Family, family_of
        from coxswain.core.planning.values import Capacity
        from coxswain.core.steering.found import Queue, Teaching, situation_of

        if self.cores is None:
            raise InputError("files do not say what their queue has; give --cores.")
        if self.namespace is not None or self.everywhere:
            raise InputError("--namespace and --all-namespaces are for jobs of a cluster; leave them out.")
        now = datetime.now(UTC)
        jobs = read_jobs(path, now)
        queues = sorted({job.spec.queue_name for job in jobs})
        if self.queue is None and len(queues) > 1:
            raise InputError(f"{path} has jobs of the queues {', '.join(queues)}; name one by --queue.")
        capacity = Capacity(round(1000 * self.cores), self.gpus or 0)

        def anywhere(family: Family) -> str:
            """Where a run was made does not matter to a file."""
            return replace(family, namespace="", node_type="").key

        teaching = Teaching(self._entries(jobs, now), lambda entry: anywhere(entry.family))
        queue = Queue(self.queue or queues[0], capacity, self.prices, now)
        return situation_of(jobs, queue, lambda job: anywhere(family_of("", job.effective, "")), teaching.of)

    def _entries(self, jobs: "list[Job]", now: datetime) -> "list[Entry]":
        if self.learn_from is None:
            return []
        entries = _of_folder(self.learn_from) if self.learn_from.is_dir() else _of_table(self.learn_from, jobs[0], now)
        if self.node_type is None:
            return entries
        kept = [entry for entry in entries if entry.family.node_type == self.node_type]
        if not kept:
            found = ", ".join(sorted({entry.family.node_type or "none" for entry in entries}))
            raise InputError(f"{self.learn_from} has no runs on nodes of type {self.node_type}; it has {found}.")
        return kept


def prices_of(given: list[str] | None, option: str = "--price") -> "Prices":
    """The prices in `core=0.05`, `gib=0.01`, `gpu=2`."""
    from coxswain.core.cost import Prices

    prices: dict[str, float] = {}
    for text in given or ():
        name, _, value = (part.strip() for part in text.partition("="))
        try:
            prices[_PRICES[name]] = float(value)
        except (KeyError, ValueError):
            raise InputError(
                f"{option} {text} cannot be read; write core=0.05, gib=0.01 or gpu=2, an hour of each."
            ) from None
    try:
        return Prices(**prices)
    except InputError as error:
        raise InputError(f"{option}: {error}") from None


def read_jobs(path: Path, now: datetime) -> "list[Job]":
    """The TrainingJobs of a file, or of all YAML and JSON files of a folder, as if they were created now."""
    from coxswain.core.jobs.view import Job

    folder = path.is_dir()
    files = sorted(file for file in path.iterdir() if file.suffix in _SUFFIXES) if folder else [path]
    found: dict[tuple[str, str], Job] = {}
    for file in files:
        for manifest in documents(file):
            if not (isinstance(manifest, dict) and manifest.get("kind") == "TrainingJob"):
                continue
            job = Job({**manifest, "metadata": _born(manifest.get("metadata"), now)})
            if job.problem:
                raise InputError(f"{file}: {job.problem}")
            if (job.namespace, job.name) in found:
                raise InputError(f"{file}: there is another job {job.name}; give each a name of its own.")
            found[job.namespace, job.name] = job
    if not found:
        raise InputError(f"{path} has no TrainingJob; give a manifest of one, or a folder with some.")
    return list(found.values())


def _born(metadata: Any, now: datetime) -> dict[str, Any]:
    """What the cluster would add to an object's metadata."""
    given = metadata if isinstance(metadata, dict) else {}
    name = str(given.get("name") or "")
    return {"namespace": "default", "uid": name, "creationTimestamp": now.isoformat(), **given}


def _of_folder(path: Path) -> "list[Entry]":
    from coxswain.core.api import parse_experiment
    from coxswain.core.observations import latest
    from coxswain.core.steering.found import entries_of_runs
    from coxswain.local.folder import read_manifest, read_observations

    return entries_of_runs(parse_experiment(read_manifest(path)), latest(read_observations(path)))


def _of_table(path: Path, like: "Job", now: datetime) -> "list[Entry]":
    from coxswain.core.api import parse_job
    from coxswain.core.ledger.measured import Like
    from coxswain.core.ledger.table import read_csv

    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"--from: there is no file or folder {path}; check the path.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--from: {path} cannot be read ({error}); give a CSV file in UTF-8.") from None
    try:
        return read_csv(text, "", Like.of(parse_job(like.manifest), ""), now.isoformat())
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _require_not_negative(option: str, amount: float | None) -> None:
    if amount is not None and not 0 <= amount <= 1e6:
        raise InputError(f"{option} is {amount:g}; give a number from 0 to 1000000.")
