"""The parts of the local cluster that need no cluster: what is kept, what is missing, where tests can run."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.cluster import conditions
from tests.cluster.localcluster import binary, images, packages, places, record, store
from tests.cluster.localcluster.recipes import RECIPES


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "coxswain"


def written(path: Path, content: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


class TestStore:
    def test_a_fingerprint_is_of_names_and_contents_not_of_where_files_lie(self, tmp_path: Path) -> None:
        here = written(tmp_path / "here" / "go.mod", "module x")
        there = written(tmp_path / "there" / "go.mod", "module x")

        assert store.fingerprint({"go.mod": here}, "-s") == store.fingerprint({"go.mod": there}, "-s")

    def test_any_change_makes_another_fingerprint(self, tmp_path: Path) -> None:
        same = written(tmp_path / "a", "x")
        other = written(tmp_path / "b", "y")

        fingerprints = [
            store.fingerprint({"a": same}, "-s"),
            store.fingerprint({"a": other}, "-s"),  # a content
            store.fingerprint({"b": same}, "-s"),  # a name
            store.fingerprint({"a": same}, "-w"),  # a word
            store.fingerprint({"a": same, "b": same}, "-s"),  # a file more
            store.fingerprint({"a": same}, "-", "s"),  # the same letters, cut otherwise
        ]
        assert len(set(fingerprints)) == len(fingerprints)

    def test_what_is_made_once_is_found_again(self, cache: Path) -> None:
        made = []

        def make(folder: Path) -> None:
            made.append(folder)
            (folder / "thing").write_text("ready")

        for _ in range(2):
            assert (store.obtain("things-1", make) / "thing").read_text() == "ready"
        assert len(made) == 1
        assert list(cache.iterdir()) == [cache / "things-1"]

    def test_a_failure_leaves_nothing(self, cache: Path) -> None:
        def fail(folder: Path) -> None:
            (folder / "half").touch()
            raise RuntimeError

        with pytest.raises(RuntimeError):
            store.obtain("things-1", fail)
        assert list(cache.iterdir()) == []

    def test_of_two_who_make_the_same_the_first_to_finish_wins(self, cache: Path) -> None:
        def overtaken(folder: Path) -> None:
            (folder / "thing").write_text("second")
            written(cache / "things-1" / "thing", "first")

        assert (store.obtain("things-1", overtaken) / "thing").read_text() == "first"
        assert list(cache.iterdir()) == [cache / "things-1"]


class TestBinary:
    def test_the_version_built_is_the_one_go_mod_asks_for(self) -> None:
        version = binary.kubernetes_version("require (\n\tk8s.io/kubectl v0.35.8\n\tk8s.io/kubernetes v1.35.8\n)\n")

        assert version == "v1.35.8"
        assert "-X k8s.io/component-base/version.gitMinor=35" in binary.build_flags(version)[-1]

    def test_every_program_named_is_one_the_binary_knows(self) -> None:
        source = (binary.SOURCE / "main.go").read_text()

        assert all(f'"{name}":' in source for name in binary.PROGRAMS)

    @pytest.mark.parametrize(
        ("version", "enough"),
        [
            ("go1.26.8\n", True),
            ("go1.26.0", True),
            ("go1.27rc1", True),
            ("go1.25.9", False),
            ("go1.9", False),
            ("", False),
        ],
    )
    def test_go_is_taken_only_if_it_is_new_enough(self, version: str, *, enough: bool) -> None:
        assert binary.is_new_enough(version, "1.26.0") is enough


class TestPackages:
    def test_only_what_is_missing_is_installed(self) -> None:
        there = set(packages.PACKAGES.values()) - {"runc", "ip"}

        assert packages.missing(lambda program: program if program in there else None) == ["runc", "iproute2"]


class TestImages:
    def test_pods_call_an_image_by_its_registry(self) -> None:
        assert images.reference("busybox") == "localhost/coxswain/busybox:latest"
        assert images.reference("busybox", "example.org/team") == "example.org/team/busybox:latest"

    def test_every_recipe_has_its_dockerfile_with_the_base_as_an_argument(self) -> None:
        for recipe in RECIPES.values():
            dockerfile = (recipe.folder / "Dockerfile").read_text()
            assert "ARG BASE" in dockerfile
            assert "FROM ${BASE}" in dockerfile


class TestRecord:
    def test_a_process_is_known_by_its_number_and_its_start(self) -> None:
        started = record.start_time(os.getpid())

        assert started is not None
        assert int(started) > 0

    def test_an_ended_process_has_no_start_not_even_while_nobody_asked_for_its_result(self) -> None:
        with subprocess.Popen(["true"], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.read()
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # ended, but still in the list of processes

            assert record.start_time(process.pid) is None
        assert record.start_time(process.pid) is None


class TestConditions:
    @pytest.mark.parametrize(
        ("platform", "user", "environment", "word"),
        [
            ("linux", 1000, {}, "root"),
            ("darwin", 0, {}, "Linux"),
            ("linux", 1000, {"COXSWAIN_TEST_KUBECONFIG": ""}, "root"),
        ],
    )
    def test_without_root_or_linux_a_sentence_says_so(
        self, platform: str, user: int, environment: dict[str, str], word: str
    ) -> None:
        reason = conditions.reason_to_skip(platform, user, environment)

        assert reason is not None
        assert f"needs {word}" in reason

    @pytest.mark.parametrize(
        ("platform", "user", "environment"),
        [("linux", 0, {}), ("darwin", 501, {"COXSWAIN_TEST_KUBECONFIG": "/home/me/.kube/config"})],
    )
    def test_root_on_linux_or_another_cluster_is_enough(
        self, platform: str, user: int, environment: dict[str, str]
    ) -> None:
        assert conditions.reason_to_skip(platform, user, environment) is None

    @pytest.mark.parametrize(
        ("environment", "failure"), [({"CI": "true"}, True), ({"CI": "false"}, False), ({}, False)]
    )
    def test_continuous_integration_must_not_skip(self, environment: dict[str, str], *, failure: bool) -> None:
        assert conditions.skip_is_failure(environment) is failure


def test_the_cache_is_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/someone")

    assert places.cache() == Path("/home/someone/.cache/coxswain")
