"""Leads a run step by step, in the master or in the only process, and gathers what is measured."""

from __future__ import annotations

import logging
import random
import time
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import gevent
import httpx
from containers import Containers
from generator import Sample
from gevent.event import Event
from locust.runners import MasterRunner
from outcome import INVALID
from plan import SERVERS, LoadError, Loop, Step, plan, rates, user_counts
from record import Record
from summary import Done
from workload import STAND_IN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from locust.env import Environment
    from locust.runners import Runner
    from prompts import Prompts

DEFAULT_SECONDS = 60.0

_log = logging.getLogger(__name__)
_ANSWER_S = 10.0  # until a worker that has gone silent is given up, beyond the timeout of a request


@dataclass(slots=True)
class Run:
    """What a run is and has measured; ``invalid`` says why it proves nothing, if it does not."""

    workload: str
    loop: Loop
    seconds: float
    seed: int
    models: Mapping[str, str]
    steps: list[Step]
    began: datetime = field(default_factory=lambda: datetime.now(UTC))
    clock: float = field(default_factory=time.perf_counter)
    done: list[Done] = field(default_factory=list)
    containers: Containers = field(default_factory=Containers)
    invalid: list[str] = field(default_factory=list)


class Conductor:
    """Begins each step in every process that sends requests, and waits until they all are through with it."""

    def __init__(
        self,
        environment: Environment,
        urls: Mapping[str, str],
        prompts: Prompts,
        progress: Callable[[Run], None],
        finish: Callable[[Run], None],
    ) -> None:
        """``progress`` is called after each step, ``finish`` when the run has ended."""
        assert environment.runner is not None
        self._environment = environment
        self._runner: Runner = environment.runner
        self._urls = urls
        self._prompts = prompts
        self._progress = progress
        self._finish = finish
        self._seconds = DEFAULT_SECONDS
        self._run: Run | None = None
        self._greenlet: gevent.Greenlet | None = None
        self._missing = 0
        self._all_in = Event()
        self._take_over(environment)
        self._runner.register_message("measured", self._gather)
        environment.events.spawning_complete.add_listener(self._start)
        environment.events.test_stop.add_listener(self._stop)

    def _take_over(self, environment: Environment) -> None:
        """Decides for Locust that all users start at once, and that no run is ended by its clock."""
        options = environment.parsed_options
        assert options is not None
        if options.rate:
            options.num_users = options.expect_workers  # one user of each process sends all that is due
        elif options.ladder:
            options.num_users = int(max(user_counts(options.ladder)))
        if options.run_time and (options.headless or options.autostart):
            self._seconds, options.run_time = float(options.run_time), None
        options.spawn_rate = options.spawn_rate or 100  # the most that Locust lets pass without a warning

    def _start(self, **_: Any) -> None:
        if web_ui := self._environment.web_ui:
            web_ui._cancel_run_time_timer()  # it would cut off the requests in flight; there is no public way
        if self._greenlet is None:  # else users were added on the web page while the test runs
            self._greenlet = gevent.spawn(self._conduct)

    def _stop(self, **_: Any) -> None:
        """The test was stopped. A run that has come to its end did so itself, and is no longer ``_run``."""
        run, greenlet = self._run, self._greenlet
        self._run = self._greenlet = None
        if greenlet is not None:
            greenlet.kill(block=False)
        if run is not None:
            run.invalid.append("it was stopped before its end")
            self._finish(run)

    def _conduct(self) -> None:
        try:
            run = self._plan()
            fits = {name: asdict(fit) for name, fit in self._prompts.fits(run.workload, self._scripted(run)).items()}
            self._run = run
            self._lead(run, fits)
            self._run = self._greenlet = None  # what it comes to is written even when somebody stops the test now
            self._finish(run)  # before the test is stopped: then the web page asks for nothing any more
        except Exception as error:  # nobody waits for this greenlet: what it does not say would look like a hang
            _log.error("no run: %s: %s", type(error).__name__, error)
            self._environment.process_exit_code = INVALID
            self._greenlet = None
        self._end()

    def _end(self) -> None:
        """Ends the test, and Locust too where nobody wants its web page any more."""
        options, web_ui = self._environment.parsed_options, self._environment.web_ui
        assert options is not None
        if web_ui is None:
            self._runner.quit()
            return
        self._runner.stop()
        if options.autostart and options.autoquit >= 0:
            gevent.sleep(options.autoquit)
            self._runner.quit()
            web_ui.stop()

    def _lead(self, run: Run, fits: dict[str, Any]) -> None:
        watching = gevent.spawn(run.containers.watch, run.clock)
        try:
            for step in run.steps:
                self._take(step, run, fits)
                self._progress(run)
        finally:
            watching.kill(block=False)

    def _take(self, step: Step, run: Run, fits: dict[str, Any]) -> None:
        _log.info(
            "step %d of %d: %s, %g %s, %.0f s, of which %.1f s warm-up are left out",
            step.number + 1, len(run.steps), step.server, step.load, step.unit, step.seconds, step.warm_up,
        )  # fmt: skip
        done = Done(step, time.perf_counter() - run.clock)
        run.done.append(done)
        clients = _clients(self._runner)
        self._missing = len(clients)
        self._all_in.clear()
        for process, client in enumerate(clients):
            self._runner.send_message(
                "turn",
                {
                    "step": asdict(step),
                    "url": self._urls[step.server],
                    "model": run.models[step.server],
                    "process": process,
                    "processes": len(clients),
                    "workload": run.workload,
                    "fits": fits,
                    "seed": run.seed,
                },
                client,
            )
        assert self._environment.parsed_options is not None
        if not self._all_in.wait(step.seconds + self._environment.parsed_options.request_timeout + _ANSWER_S):
            run.invalid.append(
                f"{self._missing} of {len(clients)} load processes did not report step {step.number + 1}"
            )

    def _gather(self, msg: Any, **_: Any) -> None:
        """One process is through with a step."""
        if self._run is None or not self._run.done or self._run.done[-1].step.number != msg.data["step"]:
            return
        done = self._run.done[-1]
        for values in msg.data["records"]:
            record = Record(**values)
            record.sent += done.began
            done.records.append(record)
        done.late.extend(msg.data["late"])
        done.generator.extend(
            Sample(values["at"] + done.began, values["cpu_percent"], values["lag_ms"])
            for values in msg.data["generator"]
        )
        self._missing -= 1
        if not self._missing:
            self._all_in.set()

    def _plan(self) -> Run:
        options = self._environment.parsed_options
        assert options is not None
        loop: Loop = options.arrivals if options.rate else "closed"
        wanted, users = self._runner.target_user_count, self._runner.user_count
        if wanted < 1:
            raise LoadError(f"there are no {wanted} users")
        levels = rates(options.rate) or user_counts(options.ladder) or [float(wanted)]
        servers = SERVERS if options.server == "both" else (options.server,)
        seconds = float(options.run_time or self._seconds)
        seed = int(options.seed or random.SystemRandom().randrange(1 << 31))
        models = {server: _model(self._urls[server]) for server in servers}
        run = Run(options.workload, loop, seconds, seed, models, plan(servers, levels, loop, seconds))
        if loop == "closed" and users < max(levels):  # the web page's number may be below the ladder's
            run.invalid.append(f"{max(levels):g} users were to send requests, and there were {users}")
        return run

    def _scripted(self, run: Run) -> bool:
        return set(run.models.values()) == {STAND_IN}


def _clients(runner: Runner) -> list[str | None]:
    """The processes that have users, those with the most first: of them a step asks one more where it cannot be even.

    None stands for this process, where it is the only one.
    """
    if not isinstance(runner, MasterRunner):
        return [None]
    workers = sorted(runner.clients.all, key=lambda worker: worker.user_count, reverse=True)
    return [worker.id for worker in workers if worker.user_count]


def _model(url: str) -> str:
    """What the server serves. One that does not answer is asked all the same: its failures are what the run shows."""
    try:
        return str(httpx.get(f"{url}/v1/models", timeout=10).json()["data"][0]["id"])
    except (httpx.HTTPError, ValueError, LookupError, TypeError):
        return STAND_IN
