"""What was tested and on what, and how each command of a validation ended."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from report.steps import RECORD, STEPS, Ended, has_target, log_of
from stand.evidence import Check, Figure, Part, State
from stand.repository import ROOT

from .live import FILE as LIVE_FILE
from .loaded import FILE as LOAD_FILE
from .soaked import FILE as SOAK_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from stand.repository import Commit

FIXTURE = ROOT / "fixtures" / "parity" / "deepseek-v4-flash-0731.json"
PINNED = "deepseek-ai/DeepSeek-V4-Flash-0731"


def scope_of(results: Path) -> str:
    """What the verdict is about: the model that the live tests were answered by."""
    versions = _versions(results)
    model = versions.get("model")
    if model is None:
        return "No live test has run: nothing was asked of a server."
    if model == "stand-in":
        return f"Of the stand-in checkpoint: the tokenizer of {PINNED} and no weights. Its weights were not served."
    return f"Of {model} on {versions.get('GPUs', 'unknown hardware')}."


def _versions(results: Path) -> dict[str, str]:
    live = results / LIVE_FILE
    if not live.exists():
        return {}
    return {each["what"]: each["value"] for each in json.loads(live.read_text(encoding="utf-8"))["versions"]}


def what_was_tested(results: Path, commit: Commit, record: dict[str, Ended]) -> Part:
    """Versions, digests and hardware, as the live tests found them, and whether all is of one commit."""
    versions = _versions(results)
    fixtures = json.loads(FIXTURE.read_text(encoding="utf-8"))
    seen = {f"`{ended.command}`": ended.commit for ended in record.values()}
    if tested := versions.pop("git commit", ""):
        seen["`make e2e`"] = tested
    for who, file in (("`make load`", LOAD_FILE), ("`make soak`", SOAK_FILE)):
        if tested := _commit_in(results / file):
            seen[who] = tested
    return Part(
        "What was tested",
        (LIVE_FILE,) if versions else (),
        (_one_commit(commit, seen), *_learned(versions)),
        (
            Figure("git commit", str(commit)),
            Figure("pinned checkpoint (fixtures)", f"{fixtures['model']} @ {fixtures['revision']}"),
            *(Figure(what, value) for what, value in versions.items()),
        ),
    )


def _commit_in(path: Path) -> str:
    """What the run of a file was on; empty where there is none to read, which its own part says."""
    try:
        return str(json.loads(path.read_text(encoding="utf-8")).get("commit", "a commit that it does not name"))
    except (FileNotFoundError, ValueError, AttributeError):
        return ""


def _one_commit(commit: Commit, seen: dict[str, str]) -> Check:
    elsewhere = {other: [who for who, on in seen.items() if on == other] for other in seen.values()}
    others = [f"{', '.join(ran)} ran on {other}" for other, ran in elsewhere.items() if other != commit.id]
    if commit.changed:
        others.append(f"{len(commit.changed)} files are not as committed: {', '.join(commit.changed[:3])}")
    state = State.NOT_RUN if others else State.PASSED
    return Check("all results are of the commit that is checked out", state, "; ".join(others))


def _learned(versions: dict[str, str]) -> Iterator[Check]:
    for what, value in versions.items():
        if value.startswith("unknown"):
            yield Check(what, State.NOT_RUN, value)


def commands(record: dict[str, Ended]) -> Part:
    """How each step of ``make validate`` ended."""
    checks = []
    for ended in record.values():
        if ended.status is None:
            checks.append(Check(ended.command, State.FAILED, f"was ended after {ended.seconds:.0f} s"))
        elif ended.status:
            checks.append(Check(ended.command, State.FAILED, f"exit status {ended.status} after {ended.seconds:.0f} s"))
        else:
            checks.append(Check(ended.command, State.PASSED, f"{ended.seconds:.0f} s"))
    for step in STEPS:
        if step.target not in record:
            why = "`make validate` has not run it" if has_target(step.target) else "this version has no such command"
            checks.append(Check(step.command, State.NOT_RUN, why))
    raw = (RECORD, *(log_of(target) for target in record)) if record else ()
    return Part("Every command", raw, tuple(checks), listed=True)
