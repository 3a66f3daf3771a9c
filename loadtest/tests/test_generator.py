from __future__ import annotations

import pytest
from generator import Sample, own_limits
from plan import Step
from summary import Done

STEP = Step(4, "frontend", 32, "closed", seconds=8, warm_up=2, first_request=0)
QUIET = [Sample(float(at), cpu_percent=20, lag_ms=5) for at in range(8)]
BUSY, LAGGING = Sample(8.0, cpu_percent=99, lag_ms=5), Sample(8.0, cpu_percent=20, lag_ms=400)


@pytest.mark.parametrize(
    ("samples", "late", "said"),
    [
        (QUIET, [0.001] * 10, []),
        ([*QUIET, BUSY], [], []),
        ([*QUIET * 3, BUSY, BUSY], [], []),
        ([*QUIET, BUSY, BUSY], [], ["above 90 % of a core in 20% of the seconds"]),
        ([*QUIET, LAGGING, LAGGING], [], ["more than 250 ms late in 20% of the seconds"]),
        (QUIET, [0.001] * 8 + [0.3] * 2, ["20% of the requests were sent more than 250 ms after they were due"]),
        ([], [], []),
    ],
)
def test_a_generator_that_is_itself_the_limit_says_so(
    samples: list[Sample], late: list[float], said: list[str]
) -> None:
    reasons = list(own_limits(Done(STEP, 0, generator=samples, late=late)))
    assert len(reasons) == len(said), reasons
    for part, reason in zip(said, reasons, strict=True):
        assert reason.startswith("the load generator was the limit in step 5 (frontend, 32 users): ")
        assert part in reason
