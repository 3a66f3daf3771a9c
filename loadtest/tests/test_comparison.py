from __future__ import annotations

from typing import TYPE_CHECKING

from comparison import Comparison

if TYPE_CHECKING:
    import pytest


def test_table(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([100.0, 110.0])
    monkeypatch.setattr("time.perf_counter", lambda: next(times))
    run = Comparison()
    run.start()
    for ttft in range(1, 101):
        run.record("frontend", "TTFT", ttft, None)
        run.record("frontend", "ITL", ttft / 8, None)
        run.record("frontend", "E2E", ttft * 2, None)
        run.record("frontend", "output tokens", 20, None)
    run.record("frontend", "E2E", 0, "503: overloaded")
    run.record("reference", "E2E", 0, "503: overloaded")
    run.stop()
    assert run.table().splitlines() == [
        "                    frontend   reference",
        "requests                 101           1",
        "failures                   1           1",
        "TTFT p50 [ms]          50.00           -",
        "TTFT p95 [ms]          95.00           -",
        "ITL p50 [ms]            6.25           -",
        "ITL p95 [ms]           11.88           -",
        "output tokens/s        200.0         0.0",
    ]


def test_a_new_run_starts_from_nothing() -> None:
    run = Comparison()
    run.record("frontend", "TTFT", 1.0, None)
    run.start()
    assert run.table().splitlines()[0].split() == []
