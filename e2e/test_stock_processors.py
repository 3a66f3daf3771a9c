"""How Dynamo's own chat processors do with the recorded requests, beside ours: figures for the report, no judgement.

Every request is sent as SGLang takes it, and to ours once more in the form that Dynamo's front lets through. The
frontends with Dynamo's processors share a worker that has no engine and answers with the digest of the prompt it is
given (``probe_worker.py``).
"""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import pytest
from sglang_parity.host.headers import token_ids_sha256

from stand.repository import ROOT
from stand.servers import PATH, Server

from .report import Table
from .test_recorded import FIXTURE, for_dynamo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from stand.stack import Project, Stack

SERVICES = {"dynamo": "stock-dynamo", "sglang": "stock-sglang"}
PROBE_MODEL = "deepseek-ai/DeepSeek-V4-Flash-0731"
OURS, OURS_CARRIED = "sglang-parity", "sglang-parity, fields carried in chat_template_kwargs"
DIGEST = re.compile(r"sha256 ([0-9a-f]{64})")
RAW = ROOT / "results" / "e2e" / "stock_processors.json"
START_TIMEOUT = 120


class Fate(StrEnum):
    """What became of a request, beside what SGLang does with it."""

    SAME_IDS = "same ids"
    REFUSED = "refused too"
    OTHER_IDS = "other ids"
    TOO_STRICT = "refused what SGLang takes"
    TOO_LAX = "took what SGLang refuses"


@dataclass(frozen=True, slots=True)
class Seen:
    """One request through one processor: the digest of its prompt, None where it was refused with ``status``."""

    processor: str
    case: str
    status: int
    sha256: str | None
    fate: Fate


def test_stock_processors_on_the_same_requests(
    stack: Stack, project: Project, add_table: Callable[[Table], None]
) -> None:
    if stack.frontend.model != "stand-in":
        pytest.skip("not run: recorded for a server with the stand-in checkpoint's settings")
    cases = [case for case in json.loads(FIXTURE.read_text(encoding="utf-8"))["cases"] if "server" not in case]
    carried = [{**case, "request": for_dynamo(case["request"])} if "request" in case else case for case in cases]
    seen = through(stack.frontend, OURS, cases, prompt_in_answer)
    seen += through(stack.frontend, OURS_CARRIED, carried, prompt_in_answer)
    with stock_frontends(project) as servers:
        for processor, server in servers.items():
            seen += through(server, processor, cases, answered_digest)
    RAW.parent.mkdir(parents=True, exist_ok=True)
    RAW.write_text(json.dumps([asdict(each) for each in seen], indent=1) + "\n", encoding="utf-8")
    add_table(table_of(seen, len(cases)))

    unserved = [each for each in seen if each.status == 503]
    assert not unserved, f"not all were served, the figures say nothing: {unserved[:3]}"


def table_of(seen: list[Seen], total: int) -> Table:
    rows = []
    for processor in (OURS_CARRIED, OURS, *SERVICES):
        counts = Counter(each.fate for each in seen if each.processor == processor)
        alike = counts[Fate.SAME_IDS] + counts[Fate.REFUSED]
        rows.append((processor, f"{alike} of {total}", *(str(counts[fate]) for fate in Fate)))
    return Table(
        title="How Dynamo's own chat processors do",
        note="The recorded requests, each sent as SGLang takes it, through Dynamo's front with each processor.",
        head=("processor", "as SGLang", *Fate),
        rows=tuple(rows),
    )


def through(
    server: Server, processor: str, cases: list[dict[str, Any]], digest: Callable[[dict[str, Any]], str]
) -> list[Seen]:
    """Sends all cases; ``digest`` finds the sha256 of the prompt's ids, given the answer's body."""
    headers = {"content-type": "application/json"}
    answers = [
        (case, server.client.post(f"{server.url}{PATH}", content=as_sent(case, server.model), headers=headers))
        for case in cases
    ]
    seen = []
    for case, response in answers:
        sha256 = digest(response.json()) if response.status_code == 200 else None
        seen.append(Seen(processor, case["name"], response.status_code, sha256, fate_of(case, sha256)))
    return seen


def as_sent(case: dict[str, Any], model: str) -> bytes:
    """The case's request, unary and short, for the model that is served; ours shows its prompt in the answer."""
    if "body" in case:
        return str(case["body"]).encode("utf-8", "surrogatepass")
    request = case["request"]
    named = {"model": model} if isinstance(request.get("model"), str) else {}
    unary = {"stream": False} if request.get("stream") is True else {}
    extras = {"nvext": {"extra_fields": ["prompt_token_ids"]}, "max_tokens": 4}
    return json.dumps({**extras, **request, **named, **unary}).encode("utf-8", "surrogatepass")


def fate_of(case: dict[str, Any], sha256: str | None) -> Fate:
    if "error" in case:
        return Fate.REFUSED if sha256 is None else Fate.TOO_LAX
    if sha256 is None:
        return Fate.TOO_STRICT
    return Fate.SAME_IDS if sha256 == case["token_sha256"] else Fate.OTHER_IDS


def prompt_in_answer(body: dict[str, Any]) -> str:
    return token_ids_sha256(body["nvext"]["prompt_token_ids"])


def answered_digest(body: dict[str, Any]) -> str:
    """What the probe worker said, in whichever field the processor put it."""
    found = DIGEST.search(json.dumps(body))
    assert found, f"the answer has no digest: {body}"
    return found[1]


@contextmanager
def stock_frontends(project: Project) -> Iterator[dict[str, Server]]:
    """The frontends with Dynamo's processors, by processor."""
    compose = ["docker", "compose", "--profile", "stock"]
    services = [*SERVICES.values(), "stock-worker"]
    up = [*compose, "up", "--detach", "--no-build", "--wait", "--wait-timeout", str(START_TIMEOUT), *SERVICES.values()]
    try:
        started = subprocess.run(up, cwd=ROOT, capture_output=True, text=True, check=False)
        assert started.returncode == 0, f"the stock frontends did not start:\n{started.stderr}"
        yield {
            processor: Server("frontend", f"http://127.0.0.1:{project.service(service).port(8000)}", PROBE_MODEL)
            for processor, service in SERVICES.items()
        }
    finally:
        subprocess.run([*compose, "rm", "--stop", "--force", *services], cwd=ROOT, capture_output=True, check=False)
