"""Load on the frontend and on the reference, the same for both: ``locust -f loadtest/ --headless -u 32 -t 60s``.

The two take turns, so that neither takes the cores of the other. Servers: ``FRONTEND_URL`` and ``REFERENCE_URL``, else
the ports that the stack listens on.

Locust runs every Python file in this folder as a locustfile. So this one alone registers users and listeners; the
others only define things, and do no harm when they are run a second time.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from argparse import ArgumentTypeError
from pathlib import Path
from typing import TYPE_CHECKING, Any

import console
import gevent
import page
import written
from budgets import Limits
from chat import ChatUser
from conductor import Conductor, Run
from dotenv import dotenv_values
from locust import events
from locust.runners import MasterRunner, WorkerRunner
from outcome import exit_status, outcome
from plan import SERVERS, rates, user_counts
from prompts import Prompts
from summary import figures
from tab import Tab
from turns import Turn, Turns
from workload import names

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable

    from locust.env import Environment

ROOT = Path(__file__).parents[1]
ACCEPTED = ROOT / "results" / "load-accepted" / "run.json"
_STAND_IN = ROOT / "results" / "checkpoint"
_PORTS = {"frontend": 8000, "reference": 30000}
# Where Locust's own tables go.
_console = logging.getLogger("locust.stats_logger")


class StackUser(ChatUser):
    """A user of the server whose turn it is."""


@events.init_command_line_parser.add_listener
def _options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--workload",
        choices=names(),
        default="mixed",
        help="What is asked: a file in loadtest/workloads (default: mixed)",
    )
    add("--server", choices=("both", *SERVERS), default="both", help="Which servers take turns (default: both)")
    add(
        "--ladder",
        type=_checked(user_counts),
        default="",
        help="Numbers of users, one step each: 1,2,4,8. Finds the knee",
    )
    add(
        "--rate",
        type=_checked(rates),
        default="",
        help="Arrivals a second, one step each: 2,4,8. An open loop, instead of users",
    )
    add("--arrivals", choices=("constant", "poisson"), default="poisson", help="Of an open loop (default: poisson)")
    add("--request-timeout", type=float, default=60, help="Seconds until a request counts as failed (default: 60)")
    add("--seed", default="", help="Of the words in the prompts; by default new each time, so that no cache knows them")
    add("--budgets", default=str(ROOT / "loadtest" / "budgets.yaml"), help="File of the limits that a run must keep to")
    add(
        "--results",
        type=_checked(written.results_folder),
        default=str(ROOT / "results" / "load"),
        help="Folder for the figures; those of the run before move to FOLDER-previous",
    )
    add("--checkpoint", default="", help="Folder of the served checkpoint's tokenizer (default: the stand-in's)")


def _checked(read: Callable[[str], object]) -> Callable[[str], str]:
    """The type of an option that is kept as it was typed, since the web page shows it and sends it back."""

    def check(text: str) -> str:
        try:
            read(text)
        except ValueError as error:
            raise ArgumentTypeError(str(error)) from None
        return text

    return check


@events.init.add_listener
def _take_part(environment: Environment, **_: Any) -> None:
    if not isinstance(environment.runner, MasterRunner):
        _send(environment)
    if not isinstance(environment.runner, WorkerRunner):
        _conduct(environment)
    gevent.sleep(0)  # the loop's clock has stood still meanwhile, and Locust's timers would end a run too early


def _send(environment: Environment) -> None:
    """This process sends requests, as it is told."""
    runner = environment.runner
    assert runner is not None
    StackUser.turns = turns = Turns(lambda measured: runner.send_message("measured", measured))
    runner.register_message("turn", lambda msg, **_: turns.begin(Turn.told(msg.data)))
    environment.events.test_start.add_listener(lambda **_: turns.start_anew())


def _conduct(environment: Environment) -> None:
    """This process says whose turn it is, gathers what was measured, and writes it down."""
    assert environment.parsed_options is not None
    folder = Path(environment.parsed_options.results).resolve()
    given = environment.parsed_options.checkpoint
    if not given:
        subprocess.run([sys.executable, ROOT / "fixtures" / "checkpoint" / "build.py", _STAND_IN], check=True)
    limits = Limits.read(Path(environment.parsed_options.budgets))
    prompts = Prompts.load(Path(given or _STAND_IN))
    tab = Tab(environment.web_ui, folder) if environment.web_ui else None

    def progress(run: Run) -> None:
        if tab:
            tab.show([figures(done) for done in run.done])

    def finish(run: Run) -> None:
        content = outcome(run, limits, ACCEPTED)
        written.write(content, [record for done in run.done for record in done.records], folder)
        environment.process_exit_code = exit_status(content)
        page.write(folder)
        text = "\n".join(console.lines(content, folder))
        # Without a web page, the table comes last, after Locust's own.
        if tab:
            tab.show(content["steps"])
            _console.info(text)
        else:
            environment.events.quit.add_listener(lambda **_: _console.info(text))

    urls = {server: _url(server, port) for server, port in _PORTS.items()}
    Conductor(environment, urls, prompts, progress, finish)


def _url(server: str, default_port: int) -> str:
    settings = dotenv_values(ROOT / ".env") | os.environ
    name = server.upper()
    url = settings.get(f"{name}_URL") or f"http://127.0.0.1:{settings.get(f'{name}_PORT') or default_port}"
    return url.rstrip("/")
