"""Reads what each check left in the results folder, and names what is not there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from report.steps import Ended, read_record
from stand.evidence import Check, Part, State

from .attacked import hostile
from .bills import FILE as BILL_FILE
from .bills import bills
from .broken import faults
from .generated import outputs, requests
from .live import FILE as LIVE_FILE
from .live import live_tests
from .loaded import FILE as LOAD_FILE
from .loaded import load
from .measured import benchmarks
from .recorded import recorded_parity
from .soaked import FILE as SOAK_FILE
from .soaked import soak
from .tested import commands, what_was_tested
from .tests import tests_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from stand.repository import Commit


@dataclass(frozen=True, slots=True)
class Source:
    """A file that a command leaves, and what is read from it."""

    title: str
    target: str
    file: str
    read: Callable[[Path], Iterable[Part]]


def read_parts(results: Path, commit: Commit) -> Iterator[Part]:
    """All parts, whether their files are there or not."""
    record = read_record(results)
    yield what_was_tested(results, commit, record)
    yield commands(record)
    for source in SOURCES:
        ended = record.get(source.target)
        path = results / source.file
        try:
            parts = list(source.read(path))
        except FileNotFoundError:
            why = f"missing: `make {source.target}` writes {source.file}"
            yield Part(source.title, checks=(Check(source.file, State.NOT_RUN, why),))
            continue
        except (ElementTree.ParseError, ValueError, LookupError, TypeError, AttributeError) as error:
            why = f"cannot be read: {error!r}"
            yield Part(source.title, (source.file,), (Check(source.file, State.NOT_RUN, why),))
            continue
        if old := _outdated(path.stat().st_mtime, commit, ended):
            parts[0] = replace(parts[0], checks=(Check(source.file, State.NOT_RUN, old), *parts[0].checks))
        yield from parts


def _outdated(written: float, commit: Commit, ended: Ended | None) -> str:
    """Why a file tells nothing of what is checked out; empty where it does."""
    if ended is not None and written < ended.began:
        return f"outdated: {ended.command} did not write it anew"
    if written < commit.time:
        return f"outdated: older than commit {commit.id[:8]}"
    return ""


SOURCES = (
    Source("Recorded parity", "test", "test/junit.xml", recorded_parity),
    Source("Fast tests", "test", "test/junit.xml", tests_of("Fast tests")),
    Source("Inside a real Dynamo", "contract", "contract/junit.xml", tests_of("Inside a real Dynamo")),
    Source("Generated requests", "fuzz", "fuzz/report.json", requests),
    Source("Generated outputs", "fuzz-outputs", "fuzz/outputs.json", outputs),
    Source("Live tests", "e2e", LIVE_FILE, live_tests),
    Source("Faults", "faults", "faults/results.json", faults),
    Source("Hostile requests", "hostile", "hostile/results.json", hostile),
    Source("Benchmarks", "bench", "bench/results.json", benchmarks),
    Source("Load and budgets", "load", LOAD_FILE, load),
    Source("Software bill of materials", "sbom", BILL_FILE, bills),
    Source("Soak", "soak", SOAK_FILE, soak),
)
