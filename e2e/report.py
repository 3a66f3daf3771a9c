"""What became of every check, and with what versions: for the terminal, as JSON, and as one self-contained page."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import docker  # type: ignore[import-untyped]
import httpx

from stand.repository import ROOT
from stand.servers import MODES
from stand.templates import templates_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from stand.answers import Difference
    from stand.stack import Project, Service, Stack


LONG_TABLE = 40  # rows; on the page every table is whole


class Outcome(StrEnum):
    OK = "ok"
    DIFF = "DIFF"  # the two servers answered differently
    FAILED = "FAILED"  # anything else that went wrong
    NOT_RUN = "not run"


@dataclass(frozen=True, slots=True, order=True)
class Sides:
    """What the two servers answered, where a check wants both to be read."""

    reference: str
    frontend: str


@dataclass(frozen=True, slots=True)
class Check:
    """One test.

    Attributes:
        file: the stem of the file that it stands in.
        group: the test function, in words.
        name: the case; empty where the function has no cases.
        mode: ``unary`` or ``stream``; empty where the check has no mode.
        outcome: what became of it.
        seconds: how long it took.
        reason: why it was not run, or how it failed; a note where it is ok.
        differences: what differs, where that is how it failed.
        sides: what both answered, where the check is to show it.
    """

    file: str
    group: str
    name: str
    mode: str
    outcome: Outcome
    seconds: float
    reason: str = ""
    differences: tuple[Difference, ...] = ()
    sides: Sides | None = None


@dataclass(slots=True)
class Row:
    """One line of a table: a case in both modes."""

    name: str
    checks: dict[str, Check] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Version:
    """What was tested, or what it ran on. A value that could not be learned says why."""

    what: str
    value: str


@dataclass(frozen=True, slots=True)
class Table:
    """Figures that a test found and does not judge: ``head`` and every row are of one length."""

    title: str
    note: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(slots=True)
class Results:
    """Everything that the report shows."""

    checks: list[Check] = field(default_factory=list)
    figures: list[Table] = field(default_factory=list)
    versions: list[Version] = field(default_factory=list)
    origin: str = "no stack"
    started: float = field(default_factory=time.time)
    seconds: float = 0.0

    def tables(self) -> dict[str, list[Row]]:
        """The checks by group, and in a group by name."""
        tables: dict[str, dict[str, Row]] = {}
        for check in self.checks:
            row = tables.setdefault(check.group, {}).setdefault(check.name, Row(check.name))
            row.checks[check.mode] = check
        return {group: list(rows.values()) for group, rows in tables.items()}

    def of(self, *outcomes: Outcome) -> list[Check]:
        return [check for check in self.checks if check.outcome in outcomes]

    def counts(self) -> dict[str, int]:
        return {str(outcome): len(self.of(outcome)) for outcome in Outcome}


def terminal_lines(results: Results) -> Iterator[str]:
    """The tables, long ones without their rows that are ok, then what was not run and why."""
    for group, rows in results.tables().items():
        yield ""
        width = max(len(group), *(len(row.name) for row in rows))
        if all("" in row.checks for row in rows):
            if len(rows) > LONG_TABLE:
                not_ok = [row for row in rows if row.checks[""].outcome is not Outcome.OK]
                yield f"{group}: {len(rows) - len(not_ok)} of {len(rows)} ok"
                rows = not_ok
            for row in rows:
                note = row.checks[""].reason if row.checks[""].outcome is Outcome.OK else ""
                title = group if not row.name else f"{group}: {row.name}"
                yield f"{title:<{width}}  {row.checks[''].outcome}{f'  ({note})' if note else ''}"
            continue
        yield f"{group:<{width}}  " + "  ".join(f"{mode:<7}" for mode in MODES)
        for row in rows:
            cells = (str(row.checks[mode].outcome) if mode in row.checks else "–" for mode in MODES)
            yield f"{row.name:<{width}}  " + "  ".join(f"{cell:<7}" for cell in cells)
    for table in results.figures:
        yield from ("", table.title, *_columns(table))
    yield ""
    reasons = Counter((check.group, check.reason) for check in results.of(Outcome.NOT_RUN))
    for (group, reason), count in reasons.items():
        yield f"not run: {group} ({count}): {reason}"
    yield ", ".join(f"{count} {outcome}" for outcome, count in results.counts().items())


def _columns(table: Table) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(table.head, *table.rows, strict=True)]
    for row in (table.head, *table.rows):
        yield "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()


def title_of(check: Check) -> str:
    return " · ".join(part for part in (check.group, check.name, check.mode) if part)


def write_report(results: Results, directory: Path) -> None:
    """Writes ``results.json`` and ``report.html``."""
    directory.mkdir(parents=True, exist_ok=True)
    content = {**asdict(results), "counts": results.counts()}
    (directory / "results.json").write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    template = templates_in(Path(__file__).parent).get_template("report.html.j2")
    page = template.render(
        results=results,
        modes=MODES,
        Outcome=Outcome,
        title_of=title_of,
        started=time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(results.started)),
    )
    (directory / "report.html").write_text(page, encoding="utf-8")


# ---------------------------------------------------------------------------------------------------------- versions

_PACKAGES = "import importlib.metadata as m, sys; print(*(m.version(name) for name in sys.argv[1:]))"
_DIGEST = "import hashlib, pathlib, sys; print(hashlib.sha256(pathlib.Path(sys.argv[1]).read_bytes()).hexdigest())"
_CHECKPOINT_FILES = ("tokenizer.json", "config.json")


def versions_of(stack: Stack) -> list[Version]:
    """What is under test and what it runs on."""
    found = [
        Version("sglang (reference)", _or_reason(lambda: _server_version(stack))),
        Version("model", stack.reference.model),
        Version("git commit", _or_reason(_commit)),
        Version("CPU", f"{_cpu()}, {os.cpu_count()} cores"),
        Version("memory", f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f} GiB"),
        Version("GPUs", _or_reason(_gpus)),
        Version("system", platform.platform()),
    ]
    if stack.project is None:
        return [*found, Version("images, packages, checkpoint", "unknown: the stack is run by someone else")]
    return [*found, *_container_versions(stack.project)]


def _container_versions(project: Project) -> Iterator[Version]:
    yield Version("Docker", _or_reason(lambda: str(project.client.version()["Version"])))
    for name in ("frontend", "worker", "reference"):
        service = project.service(name)
        yield Version(f"image of {name}", f"{service.image_name} {service.image_id}")
    frontend, worker = project.service("frontend"), project.service("worker")
    for service, packages in (
        (frontend, ("ai-dynamo", "ai-dynamo-runtime", "dynamo-sglang-parity", "tokenizers")),
        (worker, ("ai-dynamo", "sglang", "torch", "transformers", "tokenizers")),
    ):
        for package in packages:
            yield Version(f"{package} ({service.name})", _python(service, _PACKAGES, package))
    directory = _model_path(worker)
    for file in _CHECKPOINT_FILES:
        yield Version(f"sha256 of the checkpoint's {file}", _python(worker, _DIGEST, f"{directory}/{file}"))


def _model_path(worker: Service) -> str:
    """The value of ``--model-path`` in the worker's command."""
    command = " ".join(worker.container.attrs["Config"]["Cmd"]).replace("=", " ").split()
    return command[command.index("--model-path") + 1]


def _python(service: Service, code: str, *arguments: str) -> str:
    output = service.run("python3", "-c", code, *arguments)
    lines = output.text.strip().splitlines() or ["no output"]
    return lines[-1] if output.exit_code == 0 else f"unknown: {lines[-1]}"


def _server_version(stack: Stack) -> str:
    info = stack.reference.client.get(f"{stack.reference.url}/server_info").raise_for_status().json()
    return str(info["version"])


def _commit() -> str:
    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()

    return git("rev-parse", "HEAD") + (" and changes" if git("status", "--porcelain") else "")


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _gpus() -> str:
    if shutil.which("nvidia-smi") is None:
        return "none"
    query = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    lines = subprocess.run(query, check=True, capture_output=True, text=True).stdout.splitlines()
    return "; ".join(f"{count} x {kind}" for kind, count in Counter(lines).items())


def _or_reason(learn: Callable[[], str]) -> str:
    try:
        return learn()
    except (OSError, subprocess.CalledProcessError, httpx.HTTPError, docker.errors.DockerException, KeyError) as error:
        return f"unknown: {error}"
