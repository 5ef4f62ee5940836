"""The operator as a program: `python -m coxswain --settings FILE`."""

import asyncio
import sys

import kopf

from coxswain import routes
from coxswain.core.errors import InputError
from coxswain.shell import logs
from coxswain.shell.health import measure_lag, served
from coxswain.shell.metrics import Metrics
from coxswain.shell.operator import operator
from coxswain.shell.settings import Settings, from_command_line


def main() -> int:
    """Run until told to stop; settings that make no sense end it with a sentence and exit code 2."""
    try:
        settings = from_command_line(sys.argv[1:])
    except InputError as error:
        sys.stderr.write(f"Error: {error}\n")
        return 2
    logs.configure(settings.log_format, settings.log_level)
    asyncio.run(_run(settings))
    return 0


async def _run(settings: Settings) -> None:
    metrics = Metrics()
    registry = kopf.OperatorRegistry()
    with metrics.served(settings.metrics_port):
        async with (
            operator(settings, metrics) as ours,
            served(ours.health, settings.health_port),
            asyncio.TaskGroup() as tasks,
        ):
            loops = [
                tasks.create_task(ours.run()),
                tasks.create_task(measure_lag(ours.health, metrics.event_loop_lag.observe)),
            ]
            routes.register(registry, ours, loops)
            # kopf takes over the signals, and ends with the tasks that `routes` ends when it is told to stop.
            await kopf.operator(
                registry=registry,
                # kopf's own would need a user with a name, which a pod has not got.
                identity=ours.identity,  # type: ignore[arg-type]
                clusterwide=not settings.namespaces,
                namespaces=settings.namespaces,
                standalone=True,
            )


if __name__ == "__main__":
    sys.exit(main())
