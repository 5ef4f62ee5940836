"""What a person sees while runs are made: a table that keeps itself up to date, or plain lines where nobody watches.

It goes to standard error, so that standard output has the result and nothing else. Every run that ends is told in a
line of its own either way.
"""

import time
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from coxswain.core.observations import FAILED

if TYPE_CHECKING:
    from coxswain.core.expand import PlannedRun
    from coxswain.core.observations import Observation
    from coxswain.core.verdict import Verdict
    from coxswain.local.folder import Folder
    from coxswain.local.runner import Options
    from coxswain.local.snapshot import Running, Snapshot

REDRAW_SECONDS = 0.5
_BAR_WIDTH = 24


def make_runs(runs: "Sequence[PlannedRun]", folder: "Folder", options: "Options", notes: Sequence[str]) -> bool:
    """Make the runs that are not done while somebody may watch; tells whether too many failed to go on."""
    from coxswain.local.plan import check
    from coxswain.local.runner import Runner, machine_cores

    check(runs, machine_cores(), options.claims)
    with Progress(folder.path.name) as display:
        for note in notes:
            display.say(note)
        runner = Runner(runs, folder, options, display)
        try:
            runner.run()
        except KeyboardInterrupt:
            display.say("Interrupted. Run the same command again to go on; what is finished is kept.")
            raise typer.Exit(130) from None
    return runner.gave_up


class Progress:
    """A display for the runner of local experiments."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._drawn = 0.0

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live.is_started:
            self._live.stop()

    def say(self, sentence: str) -> None:
        """Tell something worth knowing."""
        self._console.print(Text(sentence))

    def show(self, now: "Snapshot") -> None:
        """Bring the table up to date, but not so often that drawing it costs the workers time."""
        if self._live.is_started and time.monotonic() - self._drawn >= REDRAW_SECONDS:
            self._drawn = time.monotonic()
            self._live.update(self._table(now), refresh=True)

    def finished(self, observations: Sequence["Observation"], now: "Snapshot") -> None:
        """Tell how the jobs of a run ended."""
        for each in observations:
            told = _outcome(each)
            if not self._live.is_started:
                told.append(f"  ({_summary(now)})", style="dim")
            self._console.print(told)

    def retrying(self, run: "PlannedRun", verdict: "Verdict") -> None:
        """Tell that a run is made again."""
        self._console.print(Text(f"↻ {run.name} again: {verdict.message}", style="yellow"))

    def _table(self, now: "Snapshot") -> Group:
        jobs = Table(box=None, pad_edge=False, header_style="bold")
        jobs.add_column("running", min_width=24)
        for column in ("epoch", "", "time", "left"):
            jobs.add_column(column, justify="right")
        for job in now.running:
            bar = ProgressBar(total=job.planned, completed=job.epochs, width=_BAR_WIDTH)
            jobs.add_row(_label(job), f"{job.epochs}/{job.planned}", bar, clock(job.seconds), clock(job.left))
        ended = now.done + now.failed
        head = Table.grid(padding=(0, 2))
        head.add_row(
            Text(self._name, style="bold"),
            ProgressBar(total=now.total, completed=ended, width=2 * _BAR_WIDTH),
            Text(_summary(now)),
        )
        return Group(head, jobs) if now.running else Group(head)


def clock(seconds: float | None) -> str:
    """A time as people read it: 0:07, 12:34, 1:02:03."""
    if seconds is None:
        return "–"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def _label(job: "Running") -> str:
    return job.job if job.attempt == 1 else f"{job.job} (attempt {job.attempt})"


def _summary(now: "Snapshot") -> str:
    failed = f", {now.failed} failed" if now.failed else ""
    return f"{now.done} of {now.total} done{failed}, {len(now.running)} running, {clock(now.left)} left"


def _outcome(each: "Observation") -> Text:
    if each.state == FAILED:
        return Text(f"✗ {each.job} failed: {each.reason}: {each.message}", style="red")
    told = [f"{'' if each.succeeded else f'{each.state} after '}{each.responses['duration']:.1f} s"]
    if "accuracy" in each.responses:
        told.append(f"accuracy {each.responses['accuracy']:.3f}")
    settings = ", ".join(f"{name} {_told(value)}" for name, value in each.settings.items())
    return Text.assemble(("✓ ", "green"), f"{each.job}  {', '.join(told)}  ", (settings, "dim"))


def _told(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"
