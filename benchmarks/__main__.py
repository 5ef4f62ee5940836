"""Measure: `python -m benchmarks` runs what one core can do in half an hour, with names only what is named.

Some take longer or need more than this machine's time, and run only if they are named. All print as they go.
"""

import ast
import importlib
import sys
import time
from pathlib import Path

APART = {
    "deadlines": "replays thousands of jobs with deadlines",
    "ledger": "starts a Kubernetes",
    "planning": "tries every plan there is",
    "worker_overhead": "needs a machine that does nothing else",
}
LONGER = (
    "python -m benchmarks.calibration 500 60    more tables of each shape, and all families in competition",
    "python -m benchmarks.models --anew         bounds calibrated anew without each fold",
)


def _names() -> list[str]:
    """Modules beside this one that have a `run`; the others help them."""
    return sorted(
        path.stem
        for path in Path(__file__).parent.glob("[!_]*.py")
        if any(isinstance(node, ast.FunctionDef) and node.name == "run" for node in ast.parse(path.read_text()).body)
    )


def main() -> None:
    """Run the benchmarks that are named, or all that need nothing but a while."""
    known = _names()
    wanted = sys.argv[1:] or [name for name in known if name not in APART]
    unknown = [name for name in wanted if name not in known]
    if unknown:
        sys.exit(f"there is no benchmark {unknown[0]}; there are {', '.join(known)}.")
    for number, name in enumerate(wanted, start=1):
        print(f"== {name} ({number} of {len(wanted)})", flush=True)
        started, busy = time.perf_counter(), time.process_time()
        importlib.import_module(f"benchmarks.{name}").run()
        took, worked = time.perf_counter() - started, time.process_time() - busy
        print(f"   ({took:.0f} s, {worked:.0f} s of one core)\n", flush=True)
    if not sys.argv[1:]:
        print("Not run, because they take longer or need more:")
        for name in sorted(APART.keys() & set(known)):
            print(f"  {f'python -m benchmarks {name}':41s}  {APART[name]}")
        for command in LONGER:
            print(f"  {command}")


if __name__ == "__main__":
    main()
