"""An API server that loses news: everything passes through to the real one, but watches can fall silent or expire.

Neither can be brought about on a real API server at a wished moment. Whoever talks to this one sees watches that stay
open and say nothing, or are told that what they know is too old (410) and have to begin anew.
"""

import asyncio
import contextlib
import json
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import yaml
from aiohttp import web

from tests.cluster.kube import Cluster

_LONGEST_LINE = 2**22
_NOT_PASSED_ON = {
    "authorization",
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "content-encoding",
    "accept-encoding",
}
_EXPIRED = {
    "type": "ERROR",
    "object": {
        "apiVersion": "v1",
        "kind": "Status",
        "status": "Failure",
        "reason": "Expired",
        "message": "too old resource version",
        "code": 410,
    },
}


class UnreliableApi:
    """Stands between a client and an API server; `silent` and `expired` may be set at any time."""

    def __init__(self, server: str) -> None:
        self._server = server
        self.silent = False
        """Whether what watches would tell is lost."""
        self.expired = 0
        """How many watches, from now on, are told that they are too old."""
        self.refused = 0
        """How many have been."""
        self.port = 0

    async def serve(self, ready: threading.Event, stop: asyncio.Event) -> None:
        """Answer until told to stop."""
        app = web.Application(client_max_size=_LONGEST_LINE)
        app.router.add_route("*", "/{path:.*}", self._pass_on)
        connector = aiohttp.TCPConnector(limit=0)
        timeout = aiohttp.ClientTimeout(total=None)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout, read_bufsize=_LONGEST_LINE) as session:
            self._session = session
            runner = web.AppRunner(app, shutdown_timeout=0.1)
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            self.port = runner.addresses[0][1]
            ready.set()
            await stop.wait()
            await runner.cleanup()

    async def _pass_on(self, request: web.Request) -> web.StreamResponse:
        watches = request.query.get("watch") in {"true", "1"}
        if watches and self._expires():
            return web.Response(text=json.dumps(_EXPIRED) + "\n", content_type="application/json")
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _NOT_PASSED_ON}
        body = await request.read()
        async with self._session.request(
            request.method, self._server + request.path_qs, headers=headers, data=body or None
        ) as answer:
            kept = {name: value for name, value in answer.headers.items() if name.lower() not in _NOT_PASSED_ON}
            response = web.StreamResponse(status=answer.status, headers=kept)
            await response.prepare(request)
            with contextlib.suppress(ConnectionResetError):
                async for line in answer.content:
                    if watches and self._expires():
                        await response.write(json.dumps(_EXPIRED).encode() + b"\n")
                        break
                    if not (watches and self.silent):
                        await response.write(line)
            return response

    def _expires(self) -> bool:
        if not self.expired:
            return False
        self.expired -= 1
        self.refused += 1
        return True


@contextlib.contextmanager
def unreliable(cluster: Cluster) -> Iterator[tuple[UnreliableApi, Path]]:
    """Such an API server in front of a cluster's, and a kubeconfig that leads to it."""
    with _authenticated(cluster) as server, _served(server) as api, tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kubeconfig")
        path.write_text(yaml.safe_dump(_plain(api.port)))
        yield api, path


@contextlib.contextmanager
def _authenticated(cluster: Cluster) -> Iterator[str]:
    """Where kubectl passes requests on to the API server, with whatever credentials that takes."""
    command = [cluster.program, f"--kubeconfig={cluster.kubeconfig}", "proxy", "--port=0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://{process.stdout.readline().split()[-1]}"
        finally:
            process.terminate()


@contextlib.contextmanager
def _served(server: str) -> Iterator[UnreliableApi]:
    api, ready, loop = UnreliableApi(server), threading.Event(), asyncio.new_event_loop()
    stop = asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=(api.serve(ready, stop),))
    thread.start()
    try:
        assert ready.wait(10)
        yield api
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


def _plain(port: int) -> dict[str, Any]:
    name = "unreliable"
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "users": [{"name": name, "user": {"token": "unused"}}],
    }
