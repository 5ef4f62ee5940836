"""Settings from a file and flags: defaults, overrides, and one sentence for whatever cannot be used."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from coxswain.core import cost
from coxswain.core.errors import InputError
from coxswain.shell import settings
from coxswain.shell.settings import LogFormat

PAGE = Path(__file__).parents[3] / "docs" / "settings.md"
IMAGES = {"torch": "registry/torch:1", "spark": "registry/spark:1"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "settings.yaml"
    path.write_text("images: {torch: registry/torch:1, spark: registry/spark:1}\nscrape: {intervalSeconds: 9}\n")
    return path


def test_only_the_images_have_no_default() -> None:
    found = settings.parse({"images": IMAGES})
    assert found.namespaces == ()
    assert [(queue.name, queue.cores, queue.gpus) for queue in found.queues] == [("default", "auto", "auto")]
    with pytest.raises(InputError, match=r"^settings.images: is missing; it is required\.$"):
        settings.parse({})


def test_the_file_is_read_and_flags_have_the_last_word(file: Path) -> None:
    arguments = ["--settings", str(file), "--set", "scrape.timeoutSeconds=1", "--set", "logFormat=text"]
    found = settings.from_command_line([*arguments, "--set", "namespaces=[one, two]", "--set", "prices.coreHour=0.05"])
    assert (found.scrape.interval_seconds, found.scrape.timeout_seconds) == (9, 1)
    assert found.log_format is LogFormat.TEXT
    assert found.namespaces == ("one", "two")
    assert found.prices.table == cost.Prices(core_hour=0.05)


def test_a_null_is_a_setting_left_out() -> None:
    assert settings.parse({"images": IMAGES, "scrape": {"timeoutSeconds": None}}) == settings.parse({"images": IMAGES})


def test_settings_cannot_change() -> None:
    found = settings.parse({"images": IMAGES})
    with pytest.raises(ValueError, match="frozen"):
        found.workers = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"worker": 3}, ".worker: unknown field; leave it out or correct its spelling (known are namespaces, queues, "),
        ({"workers": "8"}, '.workers: should be a valid integer, but is "8".'),
        ({"workers": 0}, ".workers: should be greater than or equal to 1, but is 0."),
        (
            {"queues": [{"name": "a", "cores": "all"}]},
            ".queues[0].cores: give a number from 0 to 1000000, or auto for what the nodes offer.",
        ),
        ({"queues": [{"name": "a"}, {"name": "a"}]}, ".queues: two queues have the same name; give each its own."),
        ({"metricsPort": 8081}, ": metricsPort and healthPort are the same; give each its own."),
        (
            {"lease": {"renewSeconds": 15}},
            ".lease: renewSeconds must be less than durationSeconds and at least twice retrySeconds.",
        ),
        ({"logLevel": "loud"}, ".logLevel: should be 'debug', 'info', 'warning' or 'error', but is \"loud\"."),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_cannot_be_used_is_named_in_one_sentence(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as refused:
        settings.parse({"images": IMAGES, **change})
    assert str(refused.value).startswith(f"settings{sentence}")


@pytest.mark.parametrize(
    ("assignment", "complaint"),
    [
        ("logFormat", "give a key and a value"),
        ("scrape.intervalSeconds.most=1", "intervalSeconds is not a mapping"),
        ("workers=[", "the value is not YAML"),
    ],
)
def test_a_flag_that_says_nothing_usable_is_refused(file: Path, assignment: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        settings.from_command_line(["--settings", str(file), "--set", assignment])


@pytest.mark.parametrize(
    ("text", "complaint"), [("a: [", "is not YAML"), ("- a", "does not hold a mapping"), (None, "No such file")]
)
def test_a_file_that_holds_no_settings_is_refused(tmp_path: Path, text: str | None, complaint: str) -> None:
    path = tmp_path / "settings.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError, match=complaint):
        settings.from_command_line(["--settings", str(path)])


def paths(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """Every setting, with its default as the page writes it."""
    for info in model.model_fields.values():
        inner = [kind for kind in (info.annotation, *get_args(info.annotation)) if isinstance(kind, type)]
        models = [kind for kind in inner if issubclass(kind, BaseModel)]
        for kind in models:
            yield from ((f"{info.alias}.{path}", default) for path, default in paths(kind))
        if isinstance(info.default, tuple):
            yield str(info.alias), "`[]`" if not info.default else "one, `default`"
        elif not models:
            yield str(info.alias), written(info.default)


def written(default: Any) -> str:
    if default is PydanticUndefined:
        return ""
    return f"`{default}`" if isinstance(default, str) else str(default).removesuffix(".0")


def test_the_page_lists_every_setting_with_its_default() -> None:
    rows = re.findall(r"^\| `([\w.]+)` \| [^|]* \| ([^|]*) \|", PAGE.read_text(), re.MULTILINE)
    listed = {name: default.strip().replace("required", "") for name, default in rows}
    assert listed == dict(paths(settings.Settings))
