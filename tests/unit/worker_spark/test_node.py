"""What a node needs before it can run Spark, and what it keeps to itself."""

import os
import pwd
import stat
from pathlib import Path

import pytest

from coxswain.worker.report import Failure, Settings
from coxswain.worker.spark import node


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.environ", {"JAVA_HOME": "/somewhere"})


def test_the_settings_are_for_nobody_elses_eyes(tmp_path: Path) -> None:
    node.prepare(tmp_path, {"spark.authenticate.secret": "hush"})
    defaults = Path(os.environ["SPARK_CONF_DIR"], "spark-defaults.conf")
    assert defaults.read_text() == "spark.authenticate.secret hush\n"
    assert stat.S_IMODE(defaults.stat().st_mode) == 0o600
    assert "hush" not in "".join(os.environ.values())


def test_temporary_files_of_all_that_is_started_go_with_the_folder(tmp_path: Path) -> None:
    node.prepare(tmp_path, {})
    assert Path(os.environ["TMPDIR"]).is_dir()
    assert Path(os.environ["TMPDIR"]).is_relative_to(tmp_path)


def test_without_java_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.environ", {"PATH": str(tmp_path)})
    with pytest.raises(Failure, match=r"^there is no Java here, which Spark needs; install a Java 17 runtime\.$"):
        node.prepare(tmp_path, {})


def test_a_user_without_a_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(number: int) -> None:
        raise KeyError(number)

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    with pytest.raises(Failure, match=r"has no name here, which Spark needs; add it to the image's /etc/passwd\.$"):
        node.prepare(tmp_path, {})


def test_the_own_address_is_the_pods_or_the_one_that_leads_to_node_0() -> None:
    assert node.own_address(Settings(pod_ip="10.1.2.3")) == "10.1.2.3"
    assert node.own_address(Settings(rendezvous_host="127.0.0.1")) == "127.0.0.1"
