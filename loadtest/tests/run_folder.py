"""Folders of load runs, made up: the same numbers every time, in the shape that a run leaves behind."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_STEP_S, _WARM_UP_S = 20.0, 3.0
_CONTAINERS = {"sglang-parity-frontend-1": 310, "sglang-parity-worker-1": 1450, "sglang-parity-reference-1": 1520}


def write_run(folder: Path, *, servers: Sequence[str], loads: Sequence[float], **changed: Any) -> Path:
    """Writes ``run.json``, ``requests.jsonl`` and ``requests.csv`` of a run with a step for each server at each load.

    Args:
        changed: what ``run.json`` says instead, by key.

    Returns:
        the path of ``run.json``.
    """
    rng = random.Random(str(loads))
    order = [(load, server) for load in loads for server in servers]
    steps = [_step(number, server, load, max(loads)) for number, (load, server) in enumerate(order)]
    times = [2.0 * index for index in range(int(len(steps) * _STEP_S / 2) + 1)]
    run = {
        "began": "2026-12-02T18:00:00+00:00",
        "commit": "0123456789ab",
        "model": "stand-in",
        "machine": {"cpu": "Example CPU 3000", "cores": 2, "memory_gib": 7.77},
        "workload": "mixed",
        "seed": 7,
        "loop": "closed",
        "seconds": _STEP_S * len(steps),
        "warm_up_s": _WARM_UP_S,
        "valid": True,
        "invalid_because": [],
        "steps": steps,
        "failures": [],
        "budgets": [],
        "containers": [
            {"at": at, "name": name, "cpu_percent": rng.uniform(20, 110), "memory_mib": memory + at / 4}
            for at in times
            for name, memory in _CONTAINERS.items()
        ],
        "containers_missing": "",
        "generator": [{"at": at, "cpu_percent": rng.uniform(5, 20), "lag_ms": rng.expovariate(2)} for at in times],
        "previous": None,
        **changed,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.json").write_text(json.dumps(run), encoding="utf-8")
    requests = [request for step in run["steps"] for request in _requests(step, rng)]
    (folder / "requests.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in requests), encoding="utf-8")
    (folder / "requests.csv").write_text("server,step\n", encoding="utf-8")
    return folder / "run.json"


def _step(number: int, server: str, load: float, highest: float) -> dict[str, Any]:
    slower = 1.06 if server == "frontend" else 1.0
    ttft, itl = slower * (40 + 9 * load), slower * (8 + 1.1 * load)
    tokens = 900 * load / (load + 6) / slower
    p50 = {"ttft": ttft, "ttst": ttft + itl, "itl": itl, "tpot": itl * 1.02, "e2e": ttft + 40 * itl}
    return {
        "step": number,
        "server": server,
        "load": load,
        "unit": "users",
        "began": number * _STEP_S,
        "ended": (number + 1) * _STEP_S - 1,
        "requests": 1000 + number,
        "failures": 0,
        **{f"{name}_p{percent}": by * value for name, value in p50.items() for percent, by in _PERCENTILES.items()},
        "output_tokens_per_s": tokens,
        "output_tokens_per_s_per_user": tokens / load,
        "prompt_tokens_per_s": 4 * tokens,
        "knee": load == highest / 2,
    }


_PERCENTILES = {50: 1.0, 95: 1.7, 99: 2.9}


def _requests(step: dict[str, Any], rng: random.Random) -> list[dict[str, Any]]:
    return [
        {
            "server": step["server"],
            "step": step["step"],
            "kind": "short chat",
            "streamed": True,
            "sent": step["began"] + index / 10,
            "warm_up": index < 5,
            "status": 200,
            "failure": None,
            "body": None,
            "ttft": (step["ttft_p50"] or 50) / 1000 * rng.lognormvariate(0, 0.4),
            "ttst": 0.1,
            "tpot": 0.02,
            "e2e": 1.0,
            "itl": [(step["itl_p50"] or 10) / 1000 * rng.lognormvariate(0, 0.3) for _ in range(16)],
            "prompt_tokens": 128,
            "output_tokens": 17,
        }
        for index in range(60)
    ]
