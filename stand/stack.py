"""The stack under test: found, or started; its containers, where they are ours."""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import docker  # type: ignore[import-untyped]
import docker.errors  # type: ignore[import-untyped]
import httpx
from dotenv import dotenv_values
from testcontainers.compose import DockerCompose

from .repository import ROOT
from .servers import Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

PROJECT = "sglang-parity"
SERVICES = ("frontend", "worker", "reference")
READY_TIMEOUT = 300.0  # seconds; an engine on 2 cores takes one to two minutes


class StackError(Exception):
    """There is no stack to test; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Output:
    exit_code: int
    text: str


@dataclass(frozen=True, slots=True)
class Service:
    """One service's container, as the Docker SDK has it (which knows no types)."""

    name: str
    container: Any

    @property
    def state(self) -> dict[str, Any]:
        self.container.reload()
        state: dict[str, Any] = self.container.attrs["State"]
        return state

    @property
    def health(self) -> str:
        return str(self.state.get("Health", {}).get("Status", "no health check"))

    @property
    def started_at(self) -> str:
        """When its main process started; moves when Docker restarts it."""
        return str(self.state["StartedAt"])

    @property
    def image_id(self) -> str:
        return str(self.container.attrs["Image"])

    @property
    def image_name(self) -> str:
        return str(self.container.attrs["Config"]["Image"])

    @property
    def image_bytes(self) -> int:
        return int(self.container.client.images.get(self.image_id).attrs["Size"])

    @property
    def users(self) -> set[str]:
        """The users that its processes run as."""
        top = self.container.top()
        column = top["Titles"].index("UID")
        return {process[column] for process in top["Processes"]}

    @property
    def memory_mib(self) -> float:
        """Memory in use, without the page cache that could be dropped."""
        memory = self.container.stats(stream=False, one_shot=True)["memory_stats"]
        return float(memory["usage"] - memory["stats"]["inactive_file"]) / (1 << 20)

    def log(self, last_lines: int) -> str:
        """The end of what it has printed."""
        printed: bytes = self.container.logs(tail=last_lines)
        return printed.decode("utf-8", "replace")

    def run(self, *command: str) -> Output:
        """Runs a command in the container, as the container's user."""
        exit_code, output = self.container.exec_run(list(command))
        return Output(exit_code if exit_code is not None else -1, output.decode("utf-8", "replace"))

    def port(self, inside: int) -> int:
        """The port of this machine that leads to a port of the container."""
        self.container.reload()
        return int(self.container.ports[f"{inside}/tcp"][0]["HostPort"])

    def metrics(self) -> str:
        """What a worker's own port says, in Prometheus' text format."""
        fetch = (
            "import urllib.request as r; print(r.urlopen('http://127.0.0.1:9090/metrics', timeout=5).read().decode())"
        )
        output = self.run("python3", "-c", fetch)
        assert output.exit_code == 0, f"the metrics of {self.name} cannot be read: {output.text}"
        return output.text

    def kill_processes(self) -> None:
        """Kills all that runs in it with SIGKILL, as a crash would: Docker, which did not ask for it, restarts it."""
        self.run("sh", "-c", "kill -9 -1")


@dataclass(frozen=True, slots=True)
class Project:
    """The compose project, running on this machine."""

    client: Any

    def find(self, name: str) -> Service | None:
        """The container of a service, running or not; ``worker`` finds the GPU profile's ``worker-gpu`` too."""
        for service in (name, f"{name}-gpu"):
            labels = [
                f"com.docker.compose.project={PROJECT}",
                f"com.docker.compose.service={service}",
                "com.docker.compose.oneoff=False",  # not what `docker compose run` starts beside it
            ]
            found = self.client.containers.list(all=True, filters={"label": labels})
            if found:
                return Service(name, found[0])
        return None

    def service(self, name: str) -> Service:
        service = self.find(name)
        if service is None:
            raise StackError(f"the compose project {PROJECT} has no container for {name}")
        return service

    def up(self, settings: Mapping[str, str], workers: int = 1) -> None:
        """Brings the services to these settings of `.env`, and to as many workers, and waits until all are healthy.

        Raises:
            StackError: they do not become so.
        """
        worker = self.service("worker").container.labels["com.docker.compose.service"]
        command = ["docker", "compose", "up", "--detach", "--no-build", "--wait", "--scale", f"{worker}={workers}"]
        profile = "gpu" if worker.endswith("-gpu") else "cpu"
        environment = {**os.environ, "COMPOSE_PROFILES": profile, **settings}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise StackError(f"`{' '.join(command)}` failed:\n{done.stderr}")

    def states(self) -> dict[str, str]:
        """The state of each service that has a container."""
        found = {name: self.find(name) for name in SERVICES}
        return {name: str(service.state["Status"]) for name, service in found.items() if service is not None}


@dataclass(frozen=True, slots=True)
class Stack:
    """Two servers that answer.

    Attributes:
        project: the compose project that they run in, None where someone else runs them.
        origin: how the suite came by them, for the report.
    """

    frontend: Server
    reference: Server
    project: Project | None
    origin: str


@contextmanager
def open_stack() -> Iterator[Stack]:
    """The stack that the environment names, else the one that runs, else one that is started and stopped again.

    Raises:
        StackError: none of the three comes about.
    """
    frontend_url, reference_url = os.environ.get("FRONTEND_URL"), os.environ.get("REFERENCE_URL")
    if frontend_url and reference_url:
        yield _connect(frontend_url, reference_url, None, "FRONTEND_URL and REFERENCE_URL")
        return
    if frontend_url or reference_url:
        raise StackError("FRONTEND_URL and REFERENCE_URL go together: set both, or neither")

    frontend_url, reference_url = (f"http://127.0.0.1:{setting(port)}" for port in ("FRONTEND_PORT", "REFERENCE_PORT"))
    try:
        project = Project(docker.from_env())
    except docker.errors.DockerException as error:
        raise StackError(f"Docker does not answer, `make up` installs and starts it: {error}") from error

    states = project.states()
    if not any(state in ("running", "restarting") for state in states.values()):
        compose = DockerCompose(ROOT, keep_volumes=True)  # leaves by `docker compose stop`
        try:
            compose.start()
            yield _connect(frontend_url, reference_url, project, "docker compose, started by the suite")
        except subprocess.CalledProcessError as error:
            said = (error.stderr or b"").decode("utf-8", "replace")
            raise StackError(f"`docker compose up --wait` failed, `make up` does more:\n{said or error}") from error
        finally:
            compose.stop(down=False)
    elif set(states) == set(SERVICES) and set(states.values()) == {"running"}:
        yield _connect(frontend_url, reference_url, project, "docker compose, found running")
    else:
        raise StackError(f"the stack is half up ({states}): run `make up` or `make down` first")


def setting(name: str) -> str:
    """What Compose takes for a variable: the environment's value, else that of ``.env``."""
    return {**dotenv_values(ROOT / ".env"), **os.environ}[name] or ""


def _connect(frontend_url: str, reference_url: str, project: Project | None, origin: str) -> Stack:
    """Waits until both servers list a model.

    Raises:
        StackError: one of them does not in time.
    """
    deadline = time.monotonic() + READY_TIMEOUT
    reference = Server("reference", reference_url.rstrip("/"), "")
    model = wait_for(lambda: first_model(reference), deadline, f"reference at {reference_url}")
    frontend = Server("frontend", frontend_url.rstrip("/"), model)
    wait_for(lambda: first_model(frontend), deadline, f"frontend at {frontend_url}")
    return Stack(frontend, Server("reference", reference.url, model), project, origin)


def wait_for(listed: Callable[[], str], deadline: float, who: str) -> str:
    """The first answer of ``listed`` that is no failure.

    Raises:
        StackError: none by the deadline, a time of ``time.monotonic``.
    """
    while True:
        try:
            return listed()
        except (httpx.HTTPError, LookupError) as error:
            if time.monotonic() >= deadline:
                raise StackError(f"{who} is not ready after {READY_TIMEOUT:.0f} s: {error!r}") from error
        time.sleep(1)


def first_model(server: Server) -> str:
    models = server.models()
    if not models:
        raise LookupError("it lists no model")
    return models[0]
