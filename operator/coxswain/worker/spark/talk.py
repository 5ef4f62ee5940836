"""How the processes of a cluster keep in touch with node 0, which speaks for the job.

A line is a TCP connection that carries JSON, one word a line, after its caller has shown that it knows the job's
secret. Nodes call to learn where the Master is, training processes to learn their rank and to tell how training goes.
Once a second node 0 says whether somebody wants to stop, and so do the nodes: a line that falls silent, or breaks
before a last word, means that somebody is lost, long before Spark itself would notice.
"""

import contextlib
import hmac
import json
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from coxswain.worker.report import Failure, Reason, Settings

BEAT = 1.0
_HANDSHAKE_SECONDS = 10.0
_LONGEST_GREETING = 1000

Word = dict[str, Any]


class Line:
    """One end of a line; any thread may speak, one listens."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connection = connection
        self._incoming = connection.makefile("rb")
        self._speaking = threading.Lock()

    def say(self, **word: Any) -> None:
        """Send a word."""
        text = json.dumps(word, separators=(",", ":")).encode() + b"\n"
        with self._speaking:
            self._connection.sendall(text)

    def hear(self, longest: int = -1) -> Word | None:
        """The next word, or None when the other end has hung up; a TimeoutError when it is silent for too long."""
        text = self._incoming.readline(longest)
        return dict(json.loads(text)) if text.endswith(b"\n") else None

    def patience(self, seconds: float | None) -> None:
        """How long the other end may be silent."""
        self._connection.settimeout(seconds)

    def close(self) -> None:
        """Hang up."""
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._incoming.close()
        self._connection.close()


def listen(address: str, port: int) -> socket.socket:
    """Where lines come in."""
    try:
        return socket.create_server((address, port))
    except OSError as error:
        raise Failure(
            Reason.RENDEZVOUS_TIMEOUT, f"node 0 cannot listen on {address}:{port} ({error.strerror})."
        ) from error


def answer(connection: socket.socket, secret: str) -> tuple[Line, Word] | None:
    """Node 0's end of a new line and the caller's greeting, or None if the caller does not know the secret."""
    line = Line(connection)
    with contextlib.suppress(OSError, ValueError):
        line.patience(_HANDSHAKE_SECONDS)
        challenge = secrets.token_hex(16)
        line.say(challenge=challenge)
        greeting = line.hear(_LONGEST_GREETING)
        if greeting and hmac.compare_digest(str(greeting.pop("proof", "")), _proof(secret, challenge)):
            line.patience(None)
            return line, greeting
    line.close()
    return None


@contextlib.contextmanager
def call(settings: Settings, **greeting: Any) -> Iterator[Line]:
    """The caller's end of a line to node 0, which may not be there yet."""
    host, port, wait = settings.rendezvous_host, settings.rendezvous_port, settings.rendezvous_timeout
    deadline = time.monotonic() + wait
    while True:
        try:
            connection = socket.create_connection((host, port), timeout=_HANDSHAKE_SECONDS)
            break
        except OSError as error:
            if time.monotonic() > deadline:
                raise Failure(
                    Reason.RENDEZVOUS_TIMEOUT, f"node 0 was not there at {host}:{port} within {wait:g} s."
                ) from error
            time.sleep(0.2)
    line = Line(connection)
    try:
        opening = line.hear()
        if opening is None:
            raise Failure(Reason.PEER_LOST, f"node 0 hung up at {host}:{port} before it said anything.")
        line.say(proof=_proof(settings.spark_secret, opening["challenge"]), **greeting)
        line.patience(settings.peer_timeout)
        yield line
    finally:
        line.close()


def every_beat(action: Callable[[], None], until: threading.Event) -> threading.Thread:
    """Do something once a second in a thread of its own, until told otherwise or the line is gone."""

    def repeat() -> None:
        with contextlib.suppress(OSError):
            while not until.wait(BEAT):
                action()

    thread = threading.Thread(target=repeat, name="beat", daemon=True)
    thread.start()
    return thread


def _proof(secret: str, challenge: str) -> str:
    return hmac.new(secret.encode(), challenge.encode(), "sha256").hexdigest()
