"""Log lines: both forms, ours and kopf's."""

import io
import json
import logging
from collections.abc import Iterator

import pytest

from coxswain.shell import logs
from coxswain.shell.settings import LogFormat, LogLevel

JOB = {"kind": "TrainingJob", "metadata": {"namespace": "team", "name": "mine", "uid": "u-1"}}
QUIETED = ("kopf.objects", "asyncio", "aiohttp.access")


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """Where the log goes; the logging of this process is as before afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield io.StringIO()
    root.handlers[:] = handlers
    root.setLevel(level)
    for name in QUIETED:
        logging.getLogger(name).setLevel(logging.NOTSET)


def test_a_line_of_json_names_the_object_and_the_details(stream: io.StringIO) -> None:
    logs.configure(LogFormat.JSON, LogLevel.INFO, stream)
    logs.about(JOB, "coxswain.shell.jobs").info("Started %s.", "an attempt", attempt=1, message="not this")
    line = json.loads(stream.getvalue())
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "level": "info",
        "logger": "coxswain.shell.jobs",
        "message": "Started an attempt.",
        "object": {"kind": "TrainingJob", "namespace": "team", "name": "mine"},
        "attempt": 1,
    }


def test_a_line_of_text_reads_as_a_sentence(stream: io.StringIO) -> None:
    logs.configure(LogFormat.TEXT, LogLevel.INFO, stream)
    logs.about(JOB).warning("No room.", cores=2)
    logging.getLogger("other").info("By the way.")
    first, second = stream.getvalue().splitlines()
    assert first[9:] == "WARNING TrainingJob team/mine: No room. cores=2"
    assert second[9:] == "INFO    By the way."


@pytest.mark.parametrize("form", list(LogFormat))
def test_an_exception_keeps_its_traceback_on_the_line_or_below(stream: io.StringIO, form: LogFormat) -> None:
    logs.configure(form, LogLevel.INFO, stream)
    try:
        int("luck")
    except ValueError:
        logs.about(JOB).exception("A defect.")
    assert "ValueError: invalid literal" in stream.getvalue()
    assert (len(stream.getvalue().splitlines()) == 1) is (form is LogFormat.JSON)


@pytest.mark.parametrize(("level", "expected"), [(LogLevel.INFO, ["b"]), (LogLevel.DEBUG, ["a", "b"])])
def test_kopf_s_lines_have_the_same_form_and_its_chatter_is_for_debugging(
    stream: io.StringIO, level: LogLevel, expected: list[str]
) -> None:
    logs.configure(LogFormat.JSON, level, stream)
    kopf = logging.getLogger("kopf.objects")
    reference = {"apiVersion": "v1", "kind": "Pod", "name": "p", "namespace": "team", "uid": "u"}
    kopf.info("a", extra={"k8s_ref": reference})
    kopf.warning("b", extra={"k8s_ref": reference})
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line["message"] for line in lines] == expected
    assert lines[-1]["object"] == {"kind": "Pod", "namespace": "team", "name": "p"}
