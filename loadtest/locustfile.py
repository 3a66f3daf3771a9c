"""Load on the frontend and on the reference, the same for both: ``locust -f loadtest/ --headless -u 8 -t 30s``.

Users are shared out evenly between the two; name a class (``locust -f loadtest/ FrontendUser``) to load one server.
Servers: ``FRONTEND_URL`` and ``REFERENCE_URL``, else the ports that the stack listens on. ``--host`` wins over both.

Locust runs every Python file in this folder as a locustfile. So this one alone registers users and listeners; the
others only define things, and do no harm when they are run a second time.
"""

from __future__ import annotations

import itertools
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chat import ChatUser
from comparison import Comparison
from locust import events

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from locust.env import Environment

_STACK_SETTINGS = Path(__file__).parent.parent / ".env"


def _url(server: str, default_port: int) -> str:
    stack = _STACK_SETTINGS.read_text() if _STACK_SETTINGS.exists() else ""
    settings = dict(re.findall(r"^(\w+)=[\"']?([^\"'\s]*)", stack, re.MULTILINE)) | os.environ
    url = settings.get(f"{server}_URL") or f"http://127.0.0.1:{settings.get(f'{server}_PORT') or default_port}"
    return url.rstrip("/")


class FrontendUser(ChatUser):
    server = "frontend"
    host = _url("FRONTEND", 8000)


class ReferenceUser(ChatUser):
    server = "reference"
    host = _url("REFERENCE", 30000)


@events.init_command_line_parser.add_listener
def _options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--request-timeout", type=float, default=60, help="Seconds until a request counts as failed (default: 60)"
    )


@events.test_start.add_listener
def _start_workload_anew(**_: Any) -> None:
    for user in (FrontendUser, ReferenceUser):
        user.numbers = itertools.count()


@events.init.add_listener
def _compare_servers(environment: Environment, **_: Any) -> None:
    comparison = Comparison()
    environment.events.test_start.add_listener(comparison.start)
    environment.events.request.add_listener(comparison.record)
    environment.events.test_stop.add_listener(comparison.stop)
    # On the web page, a run ends when it is stopped; without, the table comes last, after Locust's own.
    end_of_run = environment.events.test_stop if environment.web_ui else environment.events.quit
    end_of_run.add_listener(comparison.show)
