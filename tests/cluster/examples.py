"""Every example on a real cluster, with what each gives as a table: `make examples`.

    python -m tests.cluster.examples [--together N] [NAME …]       # names of files in examples/, all unless told

They run one after the other, so that nothing but their own jobs slows them down, or N at a time where only their end
matters. Progress goes to standard error, the tables (Markdown) to standard output. One that fails is said, and the next
begins; the exit code tells whether all were well.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from tests.cluster import helm
from tests.cluster.kube import Cluster
from tests.cluster.localcluster import binary, images, lifecycle, places
from tests.cluster.operating import Manifest, Operating

FOLDER = places.REPOSITORY / "examples"
LOOK_EVERY_SECONDS = 2.0
PATIENCE_SECONDS = 5400.0


def main(names: Sequence[str], together: int) -> int:
    """Run the examples of these names, so many at a time; 1 if any did not succeed."""
    paths = [FOLDER / f"{name.removesuffix('.yaml')}.yaml" for name in names] or sorted(FOLDER.glob("*.yaml"))
    if unknown := [path.name for path in paths if not path.exists()]:
        sys.stderr.write(f"There is no example {', '.join(unknown)}; they are in {FOLDER.name}/.\n")
        return 2
    well = []
    with operator_alone("worker-torch", "worker-spark") as release, ThreadPoolExecutor(together) as pool:
        for ended in as_completed([pool.submit(_run, release, path) for path in paths]):
            succeeded, told = ended.result()
            print(told, flush=True)
            well.append(succeeded)
    print(f"\n{sum(well)} of {len(well)} examples succeeded.")
    return 0 if all(well) else 1


@contextmanager
def operator_alone(*workers: str) -> Iterator[helm.Release]:
    """A local cluster with nothing but the operator, as its chart installs it, and the images of these workers."""
    with lifecycle.running():
        cluster = Cluster(places.KUBECONFIG, str(binary.programs() / "kubectl"), is_local=True)
        for name in ("operator", *workers):
            say(f"giving the image {name} to the cluster")
            images.load(name)
        values = helm.quick_values(images.reference("operator"))
        with (
            cluster.namespace() as namespace,
            helm.installed(cluster, namespace, values, "--wait", "--timeout=3m") as release,
        ):
            yield release


def _run(release: helm.Release, path: Path) -> tuple[bool, str]:
    """Apply the objects of one example one after the other; whether all succeeded, and what came out."""
    well, told = True, [f"\n### {path.name}"]
    with release.cluster.namespace() as namespace:
        operating = Operating(release, namespace)
        for manifest in yaml.safe_load_all(path.read_text()):
            operating.apply(manifest)
            done = followed(operating, manifest)
            well &= done["status"].get("state") == "Succeeded"
            told += _told(done)
    return well, "\n".join(told)


def followed(operating: Operating, manifest: Mapping[str, Any]) -> Manifest:
    """The object once it is over; on the way, what changes is said."""
    kind, name = manifest["kind"].lower(), manifest["metadata"]["name"]
    said, patience = "", time.monotonic() + PATIENCE_SECONDS
    while True:
        found = operating.get(kind, name)
        status = found.get("status", {})
        columns = {key: value for key, value in status.get("columns", {}).items() if value}
        now = f"{name}: {status.get('state', 'Pending')} {json.dumps(columns)}"
        if now != said:
            say(now)
            said = now
        if status.get("state") in {"Succeeded", "Failed"} or time.monotonic() > patience:
            return found
        time.sleep(LOOK_EVERY_SECONDS)


def _told(done: Manifest) -> list[str]:
    """What came of one object, as lines of Markdown."""
    status = done["status"]
    began, ended = (datetime.fromisoformat(status[key]) for key in ("startTime", "completionTime"))
    took = f"\n**{done['metadata']['name']}**: {status['state']} in {(ended - began).total_seconds() / 60:.1f} minutes"
    if done["kind"] == "TrainingJob":
        return [f"{took}; epochs {status['columns'].get('epochs')}, accuracy {status['result'].get('accuracy')}."]
    counts = status["counts"]
    lines = [f"{took}; {counts['succeeded']} of {counts['total']} runs succeeded, {counts['failed']} failed."]
    if queue := status.get("queue"):
        service, wait = queue["meanServiceSeconds"], queue["meanWaitSeconds"]
        lines.append(
            f"\nMean response {service + wait:.1f} s: service {service:.1f} s and wait {wait:.1f} s, where the formula "
            f"expects {_number(queue.get('expectedWaitSeconds'))}; utilisation {_number(queue.get('utilization'))}."
        )
    if search := status.get("search"):
        lines.append(f"\n{search['message']}")
    if status.get("effects"):
        fits = {fit["response"]: fit.get("r2") for fit in status.get("fits", ())}
        lines += ["", "| response | R² | term | % of variation | p |", "|---|---|---|---|---|"]
        for effect in status["effects"]:
            r2, p = fits.get(effect["response"]), effect.get("p")
            cells = (
                effect["response"],
                "" if r2 is None else f"{r2:.3f}",
                effect["term"],
                f"{effect['percent']:.1f}",
                "" if p is None else f"{p:.2g}",
            )
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def say(line: str) -> None:
    """Tell whoever watches."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="examples", description="Run examples on a local cluster.")
    parser.add_argument("names", nargs="*", help="names of files in examples/; all unless told")
    parser.add_argument("--together", type=int, default=1, help="how many at a time")
    options = parser.parse_args()
    sys.exit(main(options.names, options.together))
