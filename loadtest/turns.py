"""Whose turn it is, in a process that sends requests: told by the conductor, waited for by the users."""

from __future__ import annotations

import itertools
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import gevent
from generator import watch
from gevent.event import Event
from plan import Step
from workload import Fit, Kind, Request, kinds_of, request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from record import Record

_LOOK_AGAIN_S = 0.02


@dataclass(slots=True)
class Turn:
    """One step, as one process sees it; times on ``time.perf_counter``'s clock.

    Attributes:
        process: the number of this process, of so many ``processes``.
        order, fits, seed: make the requests.
        records: of the requests that are finished; ``sent`` is since the step began.
        late: of an open loop, how much later than due each request was sent, in seconds.
    """

    step: Step
    url: str
    model: str
    process: int
    processes: int
    order: list[Kind]
    fits: dict[str, Fit]
    seed: int
    began: float = field(default_factory=time.perf_counter)
    records: list[Record] = field(default_factory=list)
    late: list[float] = field(default_factory=list)
    _asked: Iterator[int] = field(default_factory=itertools.count)
    _busy: int = 0

    @classmethod
    def told(cls, message: dict[str, Any]) -> Turn:
        """The turn that the conductor's message describes, beginning now."""
        return cls(
            Step(**message["step"]),
            message["url"],
            message["model"],
            message["process"],
            message["processes"],
            kinds_of(message["workload"]),
            {kind: Fit(**fit) for kind, fit in message["fits"].items()},
            message["seed"],
        )

    @property
    def ends(self) -> float:
        return self.began + self.step.seconds

    @property
    def users(self) -> int:
        """How many users of this process take part."""
        whole, rest = divmod(int(self.step.load), self.processes)
        return whole + (self.process < rest)

    def next_number(self) -> int:
        """The number of the next request of a closed loop; no other process has it."""
        return self.step.first_request + self.process + next(self._asked) * self.processes

    def request(self, number: int) -> Request:
        return request(number, self.order, self.fits, self.seed)

    @contextmanager
    def taking_part(self) -> Iterator[None]:
        """A user sends requests in it and waits for their answers."""
        self._busy += 1
        try:
            yield
        finally:
            self._busy -= 1

    def wait_for_the_end(self) -> None:
        """Until all is sent, and all that is in flight is answered or has timed out."""
        gevent.sleep(max(0.0, self.ends - time.perf_counter()))
        while self._busy:
            gevent.sleep(_LOOK_AGAIN_S)


class Turns:
    """The turn at hand."""

    def __init__(self, tell: Callable[[dict[str, Any]], None]) -> None:
        """``tell`` takes what a turn has measured, in plain values, when it is over."""
        self._tell = tell
        self._places = itertools.count()
        self._turn: Turn | None = None
        self._ending: gevent.Greenlet | None = None
        self._changed = Event()

    def start_anew(self) -> None:
        """A test begins; of one that was stopped in mid-turn nothing is told any more, it would count for this one."""
        if self._ending is not None:
            self._ending.kill()
        self._places = itertools.count()
        self._turn = None

    def take_place(self) -> int:
        """The number of one more user."""
        return next(self._places)

    def begin(self, turn: Turn) -> None:
        self._turn = turn
        self._changed.set()
        self._changed.clear()
        self._ending = gevent.spawn(self._end, turn)

    def next(self, after: int) -> Turn:
        """Waits for a turn that is not step ``after``."""
        while self._turn is None or self._turn.step.number == after:
            self._changed.wait()
        return self._turn

    def _end(self, turn: Turn) -> None:
        samples = watch(turn.step.seconds)
        turn.wait_for_the_end()
        measured = {
            "step": turn.step.number,
            "records": [asdict(record) for record in turn.records],
            "late": turn.late,
            "generator": [asdict(sample) for sample in samples],
        }
        self._tell(measured)
