"""What people get to read: how far a long job is, and the end of the log of a component that failed."""

import sys

from tests.cluster.localcluster import places


def tail(component: str, lines: int = 20) -> str:
    """The last lines a component wrote."""
    log = places.LOGS / f"{component}.log"
    text = log.read_text(errors="replace") if log.exists() else ""
    return "\n".join(text.splitlines()[-lines:])


def tell(progress: str) -> None:
    """Say how far things are, apart from standard output, which is what `up` prints for a shell to evaluate."""
    print(progress, file=sys.stderr, flush=True)
