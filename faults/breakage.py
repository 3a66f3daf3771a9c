"""The ways in which the stack is broken, each with how it is mended."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from stand.stack import Project, Service

# Sets the container's network interface up or down: its connections then stay open and carry nothing.
_SET_LINK = """
import fcntl, socket, struct, sys
GET_FLAGS, SET_FLAGS, UP = 0x8913, 0x8914, 1
any_socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
name, flags = struct.unpack("16sh", fcntl.ioctl(any_socket, GET_FLAGS, struct.pack("16sh", b"eth0", 0)))
flags = flags | UP if sys.argv[1] == "up" else flags & ~UP
fcntl.ioctl(any_socket, SET_FLAGS, struct.pack("16sh", name, flags))
"""


@dataclass(frozen=True, slots=True)
class Fault:
    """One way to break the stack.

    Attributes:
        broken: breaks it on entry and mends it on exit, where it does not mend itself.
        seconds: how long it stays broken.
        workers: how many workers serve meanwhile.
        harmless: no request may fail of it.
        cuts: it breaks the clients' own connections.
    """

    name: str
    broken: Callable[[Project], AbstractContextManager[None]]
    seconds: float = 0.0
    workers: int = 1
    harmless: bool = False
    cuts: bool = False


@contextmanager
def killed(service: Service) -> Iterator[None]:
    """All its processes die at once; Docker restarts it."""
    service.kill_processes()
    yield


@contextmanager
def paused(service: Service) -> Iterator[None]:
    """All its processes stand still."""
    service.container.pause()
    try:
        yield
    finally:
        service.container.unpause()


@contextmanager
def silent(service: Service) -> Iterator[None]:
    """The engine's scheduler stands still: requests are taken and no token comes, while all else looks well."""
    _signal_scheduler(service, "STOP")
    try:
        yield
    finally:
        _signal_scheduler(service, "CONT")


@contextmanager
def cut_off(service: Service) -> Iterator[None]:
    """Nothing reaches it and nothing leaves it."""
    _set_link(service, "down")
    try:
        yield
    finally:
        _set_link(service, "up")


@contextmanager
def discovery_full(service: Service) -> Iterator[None]:
    """No byte can be written to the volume through which the frontend finds the workers."""
    service.run("sh", "-c", "cat /dev/zero > /discovery/filler")
    try:
        yield
    finally:
        service.run("rm", "/discovery/filler")


FAULTS = (
    Fault("worker killed", lambda project: killed(project.service("worker"))),
    Fault("worker paused", lambda project: paused(project.service("worker")), seconds=30),
    Fault("worker says nothing", lambda project: silent(project.service("worker")), seconds=30),
    Fault("network cut between frontend and worker", lambda project: cut_off(project.service("worker")), seconds=30),
    Fault("E11: one of two workers killed", lambda project: killed(project.service("worker")), workers=2),
    Fault("frontend killed", lambda project: killed(project.service("frontend")), cuts=True),
    Fault("reference killed", lambda project: killed(project.service("reference")), seconds=5, harmless=True),
    Fault("discovery volume full", lambda project: discovery_full(project.service("frontend")), seconds=20),
)


def _signal_scheduler(service: Service, signal: str) -> None:
    # A shell's own kill: the image has no other.
    find = "for p in /proc/[0-9]*; do grep -qa ^sglang::scheduler $p/cmdline && kill -$0 ${p#/proc/} && echo sent; done"
    if "sent" not in service.run("sh", "-c", find, signal).text:
        raise RuntimeError(f"{service.name} has no scheduler to signal")


def _set_link(service: Service, state: str) -> None:
    container = service.container
    container.client.containers.run(
        service.image_id,
        ["python", "-c", _SET_LINK, state],
        entrypoint=[],
        network_mode=f"container:{container.id}",
        user="root",
        cap_drop=["ALL"],
        cap_add=["NET_ADMIN"],
        remove=True,
    )
    time.sleep(0.5)
