"""What the processor costs, beside what it stands in for: ``bench.py --checkpoint DIR --results DIR``.

Runs in the engine image, which has SGLang's own code, Dynamo and its mock worker. Prints a table, and writes it with
the machine and the versions to ``results.json``, and two plots. A target that is missed is shown, and no failure; exit
status 1 where a measure could not be run, or where the two make different ids.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import platform
import random
import statistics
import sys
import tempfile
import time
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from frontends import frontends
from plot import svg
from prefill import LENGTHS, NEXT_TURN_OF, Prefill
from rows import Row, at_most, below, beside, faster, spread_of, table
from serving import cost_per_token, median_tokens_per_chunk, memory, seconds_to_first_token, stalls

from stand.machine import cpu_model
from stand.probe_worker import checkpoint_with_real_architecture

if TYPE_CHECKING:
    from collections.abc import Iterator

Points = dict[str, list[tuple[float, float]]]


def of_prefill(checkpoint: Path, source: random.Random, plotted: Points) -> Iterator[Row]:
    """Reading, rendering and tokenizing, ours beside SGLang's."""
    prefill = Prefill(checkpoint)
    prefill.unseen(source, 1000, 3)
    for length, count in LENGTHS.items():
        times = prefill.unseen(source, length, count)
        tokens = statistics.median(times.tokens)
        yield faster(f"unseen, {tokens:,.0f} tokens", times.ours, times.theirs, 5 if length < 10_000 else 15)
        plotted["processor"].append((length, 1e3 * statistics.median(times.ours)))
        plotted["SGLang"].append((length, 1e3 * statistics.median(times.theirs)))
    times = prefill.next_turns(source, NEXT_TURN_OF, 6)
    yield faster(f"next turn of {statistics.median(times.tokens):,.0f} tokens", times.ours, times.theirs, 40)


def of_streams(checkpoint: Path, folder: Path, plotted: Points) -> Iterator[Row]:
    """CPU of the frontend process per token, for each chat processor."""
    with frontends(("ours", "floor", "speaking", "sglang", "dynamo"), checkpoint, folder) as started:
        for streams in (8, 32, 64):
            costs = cost_per_token(started, streams=streams, rounds=7 if streams == 64 else 3)
            for name, cost in costs.items():
                plotted[name].append((streams, statistics.median(cost.microseconds)))
        our, low, ready, stock, rust = (costs[each.name] for each in started)
        merged = f"{statistics.median(stock.tokens_per_chunk):.0f} tokens a chunk"
        yield at_most("CPU per token, 64 streams, to the floor", our.microseconds, low.microseconds, 1.2)
        yield at_most(f"the same, to stock sglang ({merged})", our.microseconds, stock.microseconds, 0.8)
        yield beside("the same, to ready chunks of 4 tokens", our.microseconds, ready.microseconds)
        yield beside("ready chunks of 4 tokens, to the floor", ready.microseconds, low.microseconds)
        yield beside("the floor itself, to stock dynamo", low.microseconds, rust.microseconds)
        size = median_tokens_per_chunk(started[0], streams=64)
        yield below("median chunk, 64 streams", size, 4, "tokens", spread=spread_of(our.tokens_per_chunk))
        unary = cost_per_token(started[:2], streams=64, rounds=9, stream=False)
        our, low = unary.values()
        yield at_most("CPU per token, 64 unary, to the floor", our.microseconds, low.microseconds, 1.1)


def of_latency(checkpoint: Path, folder: Path, source: random.Random) -> Iterator[Row]:
    """What an idle frontend adds before the first token."""
    with frontends(("ours",), checkpoint, folder) as (ours,):
        through, straight = seconds_to_first_token(ours, folder, source, prompt_tokens=1000, count=60)
    added = [a - b for a, b in zip(through, straight, strict=True)][5:]
    straight_ms = f"{1e3 * statistics.median(straight[5:]):.2f} ms straight to the worker"
    p10, *_, p90 = (1e3 * each for each in statistics.quantiles(added, n=10))
    name = "added time to first token, idle, 1k tokens"
    yield below(
        name, 1e3 * statistics.median(added), 3, "ms", theirs=straight_ms, spread=f"{p10:.2f} to {p90:.2f} (p10 to p90)"
    )


def of_stall(checkpoint: Path, folder: Path, source: random.Random) -> Iterator[Row]:
    """How long the event loop is kept from its streams."""
    beats = folder / "beats"
    with frontends(("watched",), checkpoint, folder, speedup="1", HEARTBEAT=str(beats)) as (watched,):
        alone, beside = (
            [1e3 * seconds for seconds in delays]
            for delays in stalls(watched, beats, source, prompt_tokens=200_000, count=7)
        )
    name = "stall of the event loop, 200k tokens beside 32 streams"
    without = f"{statistics.median(alone):.2f} ms without it"
    yield below(name, statistics.median(beside), 10, "ms", theirs=without, spread=spread_of(beside))


def of_memory(checkpoint: Path, folder: Path, seed: int, requests: int) -> Iterator[Row]:
    """What the frontend keeps."""
    with frontends(("ours",), checkpoint, folder) as (ours,):
        early, late = memory(ours, seed, requests=requests, conversations=10_000)
    name = f"growth of memory, {requests:,} requests over 10,000 conversations"
    yield below(name, late - early, 64 + 16, "MiB", theirs=f"{early:.0f} MiB after 1,000")


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures what the processor costs.")
    parser.add_argument("--checkpoint", type=Path, required=True, metavar="DIR")
    parser.add_argument(
        "--results", type=Path, required=True, metavar="DIR", help="where results.json and the plots go"
    )
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**9, metavar="N", help="same seed, same texts")
    parser.add_argument("--requests", type=int, default=3000, metavar="N", help="for the memory (default: 3000)")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    print(f"seed {options.seed}", flush=True)

    started, source = time.monotonic(), random.Random(options.seed)
    prefill: Points = {"SGLang": [], "processor": []}
    streams: Points = {"ours": [], "floor": [], "speaking": [], "sglang": [], "dynamo": []}
    checkpoint = checkpoint_with_real_architecture(options.checkpoint)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for measured in (
            of_prefill(options.checkpoint, source, prefill),
            of_latency(checkpoint, folder, source),
            of_stall(checkpoint, folder, source),
            of_memory(checkpoint, folder, options.seed, options.requests),
            of_streams(checkpoint, folder, streams),
        ):
            for row in measured:
                rows.append(row)
                print(f"{time.monotonic() - started:4.0f} s  {row.measure}: {row.ours}", flush=True)

    print(table(rows))
    outcome = {
        "seed": options.seed,
        "seconds": round(time.monotonic() - started),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {cpu_model()}",
        "python": platform.python_version(),
        **{package: version(package) for package in ("sglang", "ai-dynamo", "fastokens", "tokenizers")},
        "missed": sum(row.ok is False for row in rows),
        "rows": [asdict(row) for row in rows],
    }
    (options.results / "results.json").write_text(
        json.dumps(outcome, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    write_plots(options.results, prefill, streams)
    return 0


def write_plots(folder: Path, prefill: Points, streams: Points) -> None:
    names = {
        "ours": "processor",
        "floor": "reads and drops",
        "speaking": "says ready chunks",
        "sglang": "stock sglang*",
        "dynamo": "stock dynamo",
    }
    title = "Read, render and tokenize an unseen conversation [ms]"
    (folder / "prefill.svg").write_text(svg(title, "tokens of the prompt", prefill), encoding="utf-8")
    named = {names[name]: points for name, points in streams.items()}
    title = "Frontend CPU per streamed token [µs]"
    (folder / "streams.svg").write_text(
        svg(title, "streams at once (* one chunk for 20 tokens)", named), encoding="utf-8"
    )


if __name__ == "__main__":
    sys.exit(main())
