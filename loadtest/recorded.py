"""A load run as its folder holds it: what it says of itself, each server at each load, and the latencies."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import groupby
from statistics import median
from typing import TYPE_CHECKING, Any

from summary import MEASURES, PERCENTILES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

_FIGURES = (
    "output_tokens_per_s",
    "output_tokens_per_s_per_user",
    "prompt_tokens_per_s",
    *(f"{measure}_p{percent}" for measure in MEASURES for percent in PERCENTILES),
)


@dataclass(frozen=True, slots=True)
class Level:
    """A server at one load, in all its turns.

    Attributes:
        figures: the median over the turns of each figure that has a value, named as in ``run.json``; latencies in ms.
    """

    server: str
    load: float
    requests: int
    failures: int
    knee: bool
    figures: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Latencies:
    """Of the requests that count, in milliseconds."""

    ttft: list[float] = field(default_factory=list)
    itl: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Run:
    """A run. ``facts`` is ``run.json``; the rest is keyed by server and load."""

    facts: Mapping[str, Any]
    levels: Mapping[tuple[str, float], Level]
    latencies: Mapping[tuple[str, float], Latencies]

    @property
    def servers(self) -> list[str]:
        return sorted({server for server, _ in self.levels})

    @property
    def loads(self) -> list[float]:
        return sorted({load for _, load in self.levels})

    @property
    def load_unit(self) -> str:
        return str(self.facts["steps"][0]["unit"]) if self.facts["steps"] else "users"

    def load_named(self, load: float) -> str:
        return "1 user" if (load, self.load_unit) == (1, "users") else f"{load:g} {self.load_unit}"


def read_run(path: Path) -> Run:
    """Reads a ``run.json`` and the ``requests.jsonl`` beside it; without the latter, there are no latencies.

    Raises:
        FileNotFoundError: there is no such ``run.json``.
    """
    facts = json.loads(path.read_text(encoding="utf-8"))
    requests = path.with_name("requests.jsonl")
    latencies: Mapping[tuple[str, float], Latencies] = {}
    if requests.is_file():
        with requests.open(encoding="utf-8") as lines:
            latencies = _latencies(facts["steps"], lines)
    return Run(facts, _levels(facts["steps"]), latencies)


def _server_and_load(step: Mapping[str, Any]) -> tuple[str, float]:
    return step["server"], step["load"]


def _levels(steps: Iterable[Mapping[str, Any]]) -> dict[tuple[str, float], Level]:
    return {
        (server, load): _level(server, load, list(turns))
        for (server, load), turns in groupby(sorted(steps, key=_server_and_load), key=_server_and_load)
    }


def _level(server: str, load: float, turns: list[Mapping[str, Any]]) -> Level:
    values = {name: [turn[name] for turn in turns if turn[name] is not None] for name in _FIGURES}
    return Level(
        server,
        load,
        requests=sum(turn["requests"] for turn in turns),
        failures=sum(turn["failures"] for turn in turns),
        knee=any(turn["knee"] for turn in turns),
        figures={name: median(found) for name, found in values.items() if found},
    )


def _latencies(steps: Iterable[Mapping[str, Any]], lines: Iterable[str]) -> dict[tuple[str, float], Latencies]:
    level_of = {step["step"]: _server_and_load(step) for step in steps}
    latencies: defaultdict[tuple[str, float], Latencies] = defaultdict(Latencies)
    for line in lines:
        request = json.loads(line)
        if request["warm_up"] or request["failure"] is not None:
            continue
        of_level = latencies[level_of[request["step"]]]
        if request["ttft"] is not None:
            of_level.ttft.append(1000 * request["ttft"])
        of_level.itl.extend(1000 * gap for gap in request["itl"])
    return dict(latencies)
