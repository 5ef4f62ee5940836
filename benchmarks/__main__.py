"""Measure: `python -m benchmarks` runs everything, `python -m benchmarks models queueing` only what is named."""

import ast
import importlib
import sys
import time
from pathlib import Path


def _names() -> list[str]:
    """Modules beside this one that have a `run`; the others help them."""
    return sorted(
        path.stem
        for path in Path(__file__).parent.glob("[!_]*.py")
        if any(isinstance(node, ast.FunctionDef) and node.name == "run" for node in ast.parse(path.read_text()).body)
    )


def main() -> None:
    """Run the benchmarks that are named, or all of them."""
    known = _names()
    wanted = sys.argv[1:] or known
    unknown = [name for name in wanted if name not in known]
    if unknown:
        sys.exit(f"there is no benchmark {unknown[0]}; there are {', '.join(known)}.")
    for name in wanted:
        print(f"== {name}", flush=True)
        started = time.perf_counter()
        importlib.import_module(f"benchmarks.{name}").run()
        print(f"   ({time.perf_counter() - started:.0f} s)\n", flush=True)


if __name__ == "__main__":
    main()
