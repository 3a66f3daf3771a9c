"""What a run comes to: its figures, whether they hold, and the exit status."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import psutil  # type: ignore[import-untyped]
from budgets import Limits, check
from generator import own_limits
from summary import failures, figures, mark_knees

from stand.machine import cpu_model
from stand.repository import current_commit

if TYPE_CHECKING:
    from pathlib import Path

    from conductor import Run

FINE, BROKEN, INVALID = 0, 1, 3

_log = logging.getLogger(__name__)


def outcome(run: Run, limits: Limits, accepted: Path) -> dict[str, Any]:
    """The content of ``run.json``; ``accepted`` is that of the last accepted run, which need not be there."""
    steps = [figures(done) for done in run.done]
    mark_knees(steps)
    invalid = [*run.invalid, *(reason for done in run.done for reason in own_limits(done))]
    content = {
        "began": run.began.isoformat(timespec="seconds"),
        "commit": str(current_commit()),
        "model": ", ".join(sorted(set(run.models.values()))),
        "machine": _machine(),
        "workload": run.workload,
        "seed": run.seed,
        "loop": run.loop,
        "seconds": run.seconds,
        "warm_up_s": run.steps[0].warm_up,
        "valid": not invalid,
        "invalid_because": invalid,
        "steps": steps,
        "failures": failures(run.done),
        "containers": [asdict(sample) for sample in run.containers.samples],
        "containers_missing": run.containers.missing,
        "generator": [asdict(sample) for done in run.done for sample in done.generator],
    }
    return {**content, "budgets": check(content, _read(accepted), limits)}


def _read(accepted: Path) -> dict[str, Any] | None:
    """The last accepted run, empty where it cannot be read: this run's figures must not be lost with it."""
    if not accepted.exists():
        return None
    try:
        return dict(json.loads(accepted.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        _log.warning("the accepted run %s cannot be read: %s", accepted, error)
        return {}


def exit_status(run: dict[str, Any]) -> int:
    """3 where the figures do not hold, 1 where a limit broke, else 0."""
    if not run["valid"]:
        return INVALID
    return BROKEN if any(budget["ok"] is False for budget in run["budgets"]) else FINE


def _machine() -> dict[str, Any]:
    """The CPU's name, its cores and the memory of the machine that sends the requests."""
    return {
        "cpu": cpu_model(),
        "cores": psutil.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / (1 << 30), 1),
    }
