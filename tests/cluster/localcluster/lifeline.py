"""What a new cluster hangs by.

The cluster's first process reads from a pipe whose other end is held here. It ends when that is closed or the process
that holds it ends, however that comes about, unless it was told to stay.
"""

import subprocess
import sys
import time
from pathlib import Path

from tests.cluster.localcluster import init, places
from tests.cluster.localcluster.errors import ClusterError
from tests.cluster.localcluster.logs import tail


class Lifeline:
    """Made together with the cluster's namespaces and its first process, which waits for the word to go."""

    def __init__(self, programs: Path) -> None:
        namespaces = ["unshare", "--mount", "--net", "--pid", "--mount-proc", "--fork", "--kill-child"]
        with (places.LOGS / "init.log").open("ab") as log:
            self._outside = subprocess.Popen(
                [*namespaces, sys.executable, "-m", init.__name__, str(programs)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                text=True,
                cwd=places.REPOSITORY,
                start_new_session=True,  # Ctrl-C is for the starter alone, which then cleans up
            )

    @property
    def is_cut(self) -> bool:
        """Whether the first process has ended."""
        return self._outside.poll() is not None

    def first_process(self) -> int:
        """The first process, by its number outside."""
        children = Path(f"/proc/{self._outside.pid}/task/{self._outside.pid}/children")
        while not self.is_cut:
            if pids := children.read_text().split():
                return int(pids[0])
            time.sleep(0.01)
        raise ClusterError(f"The cluster's namespaces could not be made:\n{tail('init')}")

    def say(self, word: str) -> None:
        """Tell the first process to `go`, or to `stay`."""
        assert self._outside.stdin is not None
        self._outside.stdin.write(f"{word}\n")
        self._outside.stdin.flush()

    def close(self) -> None:
        """End the cluster, and return when the last of its processes is gone."""
        self._outside.communicate()
