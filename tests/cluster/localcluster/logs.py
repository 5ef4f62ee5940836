"""The components' logs, of which a failure shows the end."""

from tests.cluster.localcluster import places


def tail(component: str, lines: int = 20) -> str:
    """The last lines a component wrote."""
    log = places.LOGS / f"{component}.log"
    text = log.read_text(errors="replace") if log.exists() else ""
    return "\n".join(text.splitlines()[-lines:])
