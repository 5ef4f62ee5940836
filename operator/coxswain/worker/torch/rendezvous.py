"""How the processes of a training find each other, with nothing but the address of the first.

The first process keeps a store (a TCP server) at the job's rendezvous address: the cluster IP of a Service in front of
worker 0, or this machine. Everybody signs in there; when all have, the process group is made. Waiting is bounded, and
who is missing is named.
"""

import ipaddress
import os
import socket
import time
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

from coxswain.worker.report import Failure, Reason, Settings
from coxswain.worker.torch.world import Place

_COLLECTIVE_TIMEOUT = timedelta(hours=1)
"""A mere backstop: a peer that dies closes its connections, and one that falls silent is the monitor's to notice."""


def listen(settings: Settings, place: Place) -> socket.socket | None:
    """Where the first process will keep the store; the others listen to nobody.

    Processes of one worker need no port that others know beforehand, and take any free one.
    """
    if place.rank != 0:
        return None
    # What happens on this machine alone is nobody else's business.
    address = "127.0.0.1" if place.workers == 1 or _is_loopback(settings.rendezvous_host) else ""
    port = 0 if place.workers == 1 else settings.rendezvous_port
    try:
        return socket.create_server((address, port))
    except OSError as error:
        raise Failure(
            Reason.RENDEZVOUS_TIMEOUT, f"the first worker cannot listen on port {port}; it is taken."
        ) from error


def open_store(settings: Settings, listener: socket.socket | None) -> dist.TCPStore:
    """The store, as its keeper or as a guest."""
    timeout = timedelta(seconds=settings.rendezvous_timeout)
    if listener is not None:
        # The keeper talks to itself directly: a Service may not lead to it before it is known to be up.
        return dist.TCPStore(
            "127.0.0.1",
            listener.getsockname()[1],
            is_master=True,
            timeout=timeout,
            wait_for_workers=False,
            master_listen_fd=listener.detach(),
        )
    host, port = settings.rendezvous_host, settings.rendezvous_port
    try:
        return dist.TCPStore(host, port, timeout=timeout, wait_for_workers=False)
    except RuntimeError as error:
        raise Failure(
            Reason.RENDEZVOUS_TIMEOUT,
            f"the first worker was not there at {host}:{port} within {settings.rendezvous_timeout:g} s.",
        ) from error


def meet(store: dist.Store, settings: Settings, place: Place) -> None:
    """Wait until every process has signed in, then make the process group."""
    store.set(f"here/{place.rank}", "yes")
    deadline = time.monotonic() + settings.rendezvous_timeout
    expected = {f"here/{rank}": rank // place.processes for rank in range(place.size)}
    while missing := [worker for key, worker in expected.items() if not store.check([key])]:
        if time.monotonic() > deadline:
            names = ", ".join(str(worker) for worker in sorted(set(missing)))
            raise Failure(
                Reason.RENDEZVOUS_TIMEOUT, f"worker {names} did not come within {settings.rendezvous_timeout:g} s."
            )
        time.sleep(0.1)
    if "GLOO_SOCKET_IFNAME" not in os.environ:
        os.environ["GLOO_SOCKET_IFNAME"] = _interface(settings.rendezvous_host)
    dist.init_process_group(
        "nccl" if torch.cuda.is_available() else "gloo",
        store=dist.PrefixStore("group", store),
        rank=place.rank,
        world_size=place.size,
        timeout=_COLLECTIVE_TIMEOUT,
    )


def _interface(host: str) -> str:
    """The network interface that leads to the others: gloo would otherwise guess from the machine's name."""
    if _is_loopback(host):
        return "lo"
    routes = [line.split() for line in Path("/proc/net/route").read_text().splitlines()[1:]]
    defaults = [route[0] for route in routes if route[1] == "00000000"]
    return defaults[0] if defaults else "eth0"


def _is_loopback(host: str) -> bool:
    return ipaddress.ip_address(socket.getaddrinfo(host, None)[0][4][0]).is_loopback
