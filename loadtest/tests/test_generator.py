from __future__ import annotations

import pytest
from generator import Sample, own_limits

QUIET = [Sample(float(at), cpu_percent=20, lag_ms=5) for at in range(8)]
BUSY, LAGGING = Sample(8.0, cpu_percent=99, lag_ms=5), Sample(8.0, cpu_percent=20, lag_ms=400)


@pytest.mark.parametrize(
    ("samples", "late", "said"),
    [
        (QUIET, [0.001] * 10, []),
        ([*QUIET, *QUIET, BUSY], [], []),
        ([*QUIET, BUSY, BUSY], [], ["above 90 % of a core in 20% of the seconds"]),
        ([*QUIET, LAGGING, LAGGING], [], ["more than 250 ms late in 20% of the seconds"]),
        (QUIET, [0.001] * 8 + [0.3] * 2, ["20% of the requests were sent more than 250 ms after they were due"]),
        ([], [], []),
    ],
)
def test_a_generator_that_is_itself_the_limit_says_so(
    samples: list[Sample], late: list[float], said: list[str]
) -> None:
    reasons = list(own_limits(samples, late))
    assert len(reasons) == len(said), reasons
    assert all(part in reason for part, reason in zip(said, reasons, strict=True)), reasons
