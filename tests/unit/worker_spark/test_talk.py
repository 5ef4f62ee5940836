"""How nodes keep in touch: only who knows the secret is heard, and nobody is waited for in vain."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from coxswain.worker import report
from coxswain.worker.report import Epoch, Failure, Reason, Settings, State, Stopped
from coxswain.worker.spark import follow, talk, training
from coxswain.worker.spark.exchange import Exchange
from coxswain.worker.spark.shape import Shape


@pytest.fixture
def settings(free_port: Callable[[], int]) -> Settings:
    return Settings(
        engine="Spark",
        nodes=2,
        spark_secret="hush",  # noqa: S106
        rendezvous_port=free_port(),
        rendezvous_timeout=2.0,
        peer_timeout=10.0,
        pod_ip="127.0.0.1",
    )


@pytest.fixture
def job(settings: Settings) -> report.Job:
    return report.Job(settings)


@pytest.fixture
def exchange(job: report.Job) -> Iterator[Exchange]:
    with Exchange(job, Shape.from_settings(job.settings), "127.0.0.1") as opened:
        yield opened


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def second(settings: Settings) -> Settings:
    return replace(settings, worker=1)


def node_says(settings: Settings) -> contextlib.AbstractContextManager[talk.Line]:
    return talk.call(second(settings), role="node", node=1, address="127.0.0.2")


def test_a_node_learns_where_the_master_is_and_how_the_job_ended(settings: Settings, exchange: Exchange) -> None:
    with node_says(settings) as line:
        until(lambda: exchange.addresses.get(1) == "127.0.0.2")
        exchange.open("spark://127.0.0.1:7077")
        heard = [line.hear()]
        while "master" not in (heard[-1] or {}):
            heard.append(line.hear())
        assert heard[-1] == {"master": "spark://127.0.0.1:7077"}
        exchange.end(State.SUCCEEDED)
        while "end" not in (heard[-1] or {}):
            heard.append(line.hear())
        assert heard[-1] == {"end": "succeeded", "reason": None, "message": None}


def test_who_does_not_know_the_secret_is_not_heard(settings: Settings, exchange: Exchange) -> None:
    with node_says(replace(settings, spark_secret="guess")) as line:  # noqa: S106
        assert line.hear() is None
    assert 1 not in exchange.addresses


def test_a_stranger_that_says_nothing_keeps_nobody_waiting(settings: Settings, exchange: Exchange) -> None:
    with socket.create_connection(("127.0.0.1", settings.rendezvous_port)), node_says(settings):
        until(lambda: 1 in exchange.addresses)


def test_a_wish_to_stop_goes_both_ways(settings: Settings, job: report.Job, exchange: Exchange) -> None:
    exchange.open("spark://127.0.0.1:7077")
    with node_says(settings) as line:
        line.say(stop=True)
        until(lambda: job.stop_requested)
        words = [line.hear()]
        while not (words[-1] or {}).get("stop"):
            words.append(line.hear())


@pytest.mark.parametrize("silent", [False, True])
def test_a_lost_node_is_named(settings: Settings, silent: bool) -> None:
    job = report.Job(replace(settings, peer_timeout=0.5))
    with Exchange(job, Shape.from_settings(job.settings), "127.0.0.1") as exchange:
        exchange.open("spark://127.0.0.1:7077")
        with node_says(settings):
            until(lambda: 1 in exchange.addresses)
            if silent:
                until(lambda: exchange.failure)
        until(lambda: exchange.failure)
        exchange.end(State.FAILED, exchange.failure)
        found = exchange.cause()
    assert found is not None
    assert found.reason is Reason.PEER_LOST
    expected = "node 1 has been silent for 0.5 s." if silent else "node 1 is gone: its connection broke."
    assert found.sentence == expected


def test_what_goes_wrong_on_a_node_is_told(settings: Settings, exchange: Exchange) -> None:
    exchange.open("spark://127.0.0.1:7077")
    with node_says(settings) as line:
        line.say(reason=Reason.OUT_OF_MEMORY, message="a process on node 1 was killed for want of memory.")
        until(lambda: exchange.failure)
        exchange.end(State.FAILED, exchange.failure)
    assert exchange.failure is not None
    assert exchange.failure.reason is Reason.OUT_OF_MEMORY


def test_who_does_not_come_is_named(settings: Settings, exchange: Exchange) -> None:
    with pytest.raises(Failure) as caught:
        exchange.wait_for(lambda: len(exchange.addresses) == settings.nodes, lambda: "node 1")
    assert caught.value.sentence == "node 1 did not come within 2 s."


def test_a_node_without_node_0_says_so(settings: Settings) -> None:
    with pytest.raises(Failure) as caught:
        follow.follow(report.Job(second(settings)))
    assert caught.value.reason is Reason.RENDEZVOUS_TIMEOUT
    assert caught.value.sentence == f"node 0 was not there at 127.0.0.1:{settings.rendezvous_port} within 2 s."


def follow_in_thread(settings: Settings) -> tuple[threading.Thread, list[BaseException | None]]:
    ended: list[BaseException | None] = []

    def run() -> None:
        try:
            follow.follow(report.Job(second(settings)))
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            ended.append(error)
        else:
            ended.append(None)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, ended


@pytest.mark.parametrize("state", [State.SUCCEEDED, State.STOPPED, State.FAILED])
def test_a_node_ends_as_node_0_does_even_before_there_is_a_master(
    settings: Settings, exchange: Exchange, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.environ", {"JAVA_HOME": "/usr"})
    thread, ended = follow_in_thread(settings)
    until(lambda: 1 in exchange.addresses)
    failure = Failure(Reason.BAD_DATA, "data path /x is not there.") if state is State.FAILED else None
    exchange.end(state, failure)
    thread.join(30)
    (error,) = ended
    if state is State.SUCCEEDED:
        assert error is None
    elif state is State.STOPPED:
        assert isinstance(error, Stopped)
    else:
        assert isinstance(error, Failure)
        assert (error.reason, error.sentence) == (Reason.BAD_DATA, "data path /x is not there.")


def test_a_node_that_node_0_is_silent_to_gives_up(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.environ", {"JAVA_HOME": "/usr"})
    with socket.create_server(("127.0.0.1", settings.rendezvous_port)) as listener:
        thread, ended = follow_in_thread(replace(settings, peer_timeout=0.5))
        connection, _ = listener.accept()
        connection.sendall(b'{"challenge":"x"}\n')
        thread.join(30)
        connection.close()
    (error,) = ended
    assert isinstance(error, Failure)
    assert (error.reason, error.sentence) == (Reason.PEER_LOST, "node 0 has been silent for 0.5 s.")


def test_ranks_follow_the_nodes(settings: Settings) -> None:
    job = report.Job(replace(settings, executors_per_node=2))
    with Exchange(job, Shape.from_settings(job.settings), "127.0.0.1"), contextlib.ExitStack() as lines:
        welcomes = []
        for node in (1, 0, 1, 0):
            line = lines.enter_context(talk.call(settings, role="trainer", node=node))
            welcomes.append(line.hear() or {})
    assert [word["rank"] for word in welcomes] == [2, 0, 3, 1]
    assert len({word["port"] for word in welcomes}) == 1


def test_what_the_first_training_process_does_happens_to_the_job(
    settings: Settings, job: report.Job, exchange: Exchange
) -> None:
    heard = training._Training(job)
    exchange.on_training = heard.hear
    with talk.call(settings, role="trainer", node=0) as line:
        line.hear()
        own = training._Relayed(replace(settings, engine="Torch", workers=2, network="mlp", dataset="digits"), line)
        own.resume([Epoch(1, 2.5, loss=0.5, accuracy=0.75)])
        own.describe({"torch": "2"}, weights=10, distribution="MultiWorker")
        own.training()
        own.record(Epoch(2, 3.5, loss=0.25, accuracy=0.8), 100)
        own.end(State.FAILED, Failure(Reason.DIVERGED, "training diverged."))
        with pytest.raises(Failure, match=r"training diverged\."):
            heard._conclude(patience=30)
    assert [row.epoch for row in job.history] == [1, 2]
    word = job._last_word(State.FAILED, None)
    assert (word["weights"], word["versions"]["torch"], word["resumedAfterEpoch"]) == (10, "2", 1)
    assert word["parameters"]["network"] == "mlp"
    assert "distribution" not in word


def test_other_training_processes_speak_only_of_failures(
    settings: Settings, job: report.Job, exchange: Exchange
) -> None:
    heard = training._Training(job)
    exchange.on_training = heard.hear
    with talk.call(settings, role="trainer", node=1) as line:
        line.hear()
        own = training._Relayed(replace(settings, engine="Torch", workers=2, worker=1), line)
        own.training()
        own.record(Epoch(1, 3.5), 100)
        own.end(State.STOPPED)
        own.end(State.FAILED, Failure(Reason.BAD_DATA, "worker 1: no data."))
        with pytest.raises(Failure, match=r"worker 1: no data\."):
            heard._conclude(patience=30)
    assert job.history == []
