"""What every node does to run its part of Spark: settings in a folder of its own, and the Worker."""

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyspark

from coxswain.worker.report import Failure, Reason, Settings
from coxswain.worker.spark.shape import JVM_OPTIONS, Shape

SECRET = "COXSWAIN_SPARK_SECRET"  # noqa: S105 - the name of the variable, not the secret
_END_SECONDS = 5.0

# Spark's shell, which the driver counts as, gives the root its own level, aloud; unless they agree.
_LOGGING = """\
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
logger.spark.name = org.apache.spark
logger.spark.level = error
logger.shell.name = org.apache.spark.api.python.PythonGatewayServer
logger.shell.level = warn
logger.hadoop.name = org.apache.hadoop
logger.hadoop.level = error
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex{short}
"""


def own_address(settings: Settings) -> str:
    """The address the other nodes reach this one at."""
    if settings.pod_ip:
        return settings.pod_ip
    # Nothing is sent: connecting a datagram socket only chooses the interface that leads there.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((settings.rendezvous_host, settings.rendezvous_port))
        return str(probe.getsockname()[0])


def prepare(folder: Path, configuration: Mapping[str, str]) -> None:
    """Write Spark's settings into a folder and make every process started from here use them."""
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        raise Failure(Reason.ERROR, "there is no Java here, which Spark needs; install a Java 17 runtime.")
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        raise Failure(
            Reason.ERROR, f"user {os.getuid()} has no name here, which Spark needs; add it to the image's /etc/passwd."
        ) from None
    conf, temporary = folder / "conf", folder / "temporary"
    conf.mkdir()
    temporary.mkdir()
    (conf / "log4j2.properties").write_text(_LOGGING)
    defaults = conf / "spark-defaults.conf"
    defaults.touch(mode=0o600)  # the secret is in it
    defaults.write_text("".join(f"{name} {value}\n" for name, value in configuration.items()))
    os.environ.update(
        SPARK_HOME=str(Path(pyspark.__file__).parent),
        SPARK_CONF_DIR=str(conf),
        TMPDIR=str(temporary),  # the launcher that TorchDistributor uses cleans nothing up
        # Master and Worker always open a web page, without a password: for nobody outside.
        SPARK_LOCAL_IP="127.0.0.1",
        SPARK_DAEMON_MEMORY="128m",
        SPARK_DAEMON_JAVA_OPTS=JVM_OPTIONS,
        PYSPARK_PYTHON=sys.executable,
        PYSPARK_DRIVER_PYTHON=sys.executable,
    )


@contextlib.contextmanager
def running_worker(shape: Shape, folder: Path, address: str, master: str) -> Iterator[subprocess.Popen[bytes]]:
    """A Worker of the standalone cluster as a process that ends with this one, however this one ends."""
    arguments = {
        "--host": address,
        "--port": "0",
        "--webui-port": "0",
        "--cores": str(shape.slots_per_node),
        "--memory": f"{shape.heap_per_node}m",
        "--work-dir": str(folder / "work"),
    }
    process = subprocess.Popen(
        [
            *("setpriv", "--pdeathsig", "KILL"),
            Path(os.environ["SPARK_HOME"], "bin", "spark-class"),
            "org.apache.spark.deploy.worker.Worker",
            *(part for pair in arguments.items() for part in pair),
            master,
        ],
        start_new_session=True,  # a wish to stop is for the job's main process, which ends this one in good order
    )
    try:
        yield process
    finally:
        process.terminate()
        reap(process)


def reap(process: subprocess.Popen[bytes]) -> None:
    """Wait for a process that is ending, but not for ever."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_END_SECONDS)
    process.kill()
    process.wait()
