"""Sends hostile requests to the running stack: ``python -m hostile [--count N] [--seed S] [--replay FILE]``.

Exit status 1 where the frontend fails and the reference does not, hangs, shows its insides, dies, or grows.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import requests

from stand.repository import ROOT
from stand.servers import MODES
from stand.stack import READY_TIMEOUT, Project, Stack, StackError, first_model, open_stack, wait_for
from stand.traffic import Outcome, ask, fresh_client, scripted

from .answers import send
from .bodies import Kind, hostile_request
from .files import load, save
from .outcome import Memory, Run, terminal_lines, write
from .verdict import Verdict, is_unsettled, needs_reference, verdict

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from .bodies import HostileRequest

RESULTS = ROOT / "results" / "hostile"
CLIENTS = 8
SAMPLED = 20  # of so many requests the reference is asked for one
# SGLang makes so many requests before it looks at any, until its memory is full: the reference is not asked for them.
MANY_CHOICES = re.compile(rb'"n"\s*:\s*(\d{4,}|[\d.]+[eE])')
SAID_EVERY = 15.0  # seconds
SETTLED = 5.0  # seconds after the last request
# What the frontend may hold while 50 MB bodies come in from every client, and what it may keep, in MiB: the tokenizer's
# cache, and with each thread that tokenizes the working memory of the worst text that it has met (see ``tokenize``).
HIGHEST, KEPT = 3000, 600


def main() -> None:
    parser = argparse.ArgumentParser(prog="hostile", description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000, help="requests (default: 10000)")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same requests (default: 0)")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="send the request in this file only, to both")
    options = parser.parse_args()
    try:
        with open_stack() as stack, fresh_client() as fresh:
            stack = replace(
                stack,
                frontend=replace(stack.frontend, client=fresh),
                reference=replace(stack.reference, client=fresh),
            )
            sys.exit(replay(stack, load(options.replay)) if options.replay else run(stack, options.count, options.seed))
    except StackError as error:
        sys.exit(f"nothing was run: {error}")


def replay(stack: Stack, request: HostileRequest) -> int:
    """Sends one request to both servers, and prints what they answer; returns the exit status."""
    frontend, reference = send(stack.frontend, request), send(stack.reference, request.for_reference)
    for server, answer in ((stack.frontend, frontend), (stack.reference, reference)):
        print(f"{server.name}: {answer.outcome} {answer.status} in {answer.seconds:.1f} s: {answer.said}")
    found = verdict(request, frontend, reference)
    print(found.objection or "nothing against it")
    return 1 if found.objection else 0


def run(stack: Stack, count: int, seed: int) -> int:
    """Sends all requests and writes what became of them; returns the exit status."""
    shutil.rmtree(RESULTS, ignore_errors=True)
    started = time.monotonic()
    with Watch(stack.project) as watch:
        verdicts = {each.number: each for each in asked(stack, count, seed)}
        again = tuple(number for number, each in verdicts.items() if is_unsettled(each))
        with suppress(StackError):  # what could not be sent again keeps its verdict
            for number in again:
                wait_for_reference(stack)
                verdicts[number] = judged(stack, seed, number)
    seconds = time.monotonic() - started
    objections = tuple(aftermath(stack, watch))
    found = Run(seed, seconds, list(verdicts.values()), again, watch.memory, objections)
    write(found, RESULTS)
    for against in (each for each in found.verdicts if each.objection):
        save(hostile_request(seed, against.number, stack.frontend.model), RESULTS)
    print("\n".join(terminal_lines(found)))
    for violation in found.violations:
        print(f"AGAINST IT: {violation}")
    print(f"all of it in {RESULTS.relative_to(ROOT)}")
    return 1 if found.violations else 0


def asked(stack: Stack, count: int, seed: int) -> Iterator[Verdict]:
    """Sends the requests, some at a time, and says how far it has come."""
    started = said = time.monotonic()
    bad = 0
    with ThreadPoolExecutor(CLIENTS) as pool:
        for done, found in enumerate(pool.map(lambda number: judged(stack, seed, number), range(count)), 1):
            bad += bool(found.objection)
            if (now := time.monotonic()) > said + SAID_EVERY:
                said = now
                print(f"{now - started:4.0f} s  {done} requests, {bad} with something against them", flush=True)
            yield found


def judged(stack: Stack, seed: int, number: int) -> Verdict:
    """Sends one request, to the reference too where that must be known."""
    request = hostile_request(seed, number, stack.frontend.model)
    frontend = send(stack.frontend, request)
    sampled = number % SAMPLED == 0 and request.kind is not Kind.HUGE_BODY
    ask_both = (sampled or needs_reference(frontend)) and not MANY_CHOICES.search(request.content)
    reference = send(stack.reference, request.for_reference) if ask_both else None
    return verdict(request, frontend, reference)


def wait_for_reference(stack: Stack) -> None:
    """SGLang ends itself over some requests, and Docker starts it anew.

    Raises:
        StackError: it does not come back.
    """
    wait_for(lambda: first_model(stack.reference), time.monotonic() + READY_TIMEOUT, "reference")


class Watch:
    """The frontend's memory while the block runs, and whether frontend and worker live through it.

    Attributes:
        memory: None where the containers are out of reach.
        restarted: the services whose main process is another than before.
    """

    def __init__(self, project: Project | None) -> None:
        self.memory: Memory | None = None
        self.restarted: list[str] = []
        self._services = [project.service(name) for name in ("frontend", "worker")] if project else []
        self._leave = threading.Event()
        self._thread = threading.Thread(target=self._sample)

    def __enter__(self) -> Watch:
        self._started = [service.started_at for service in self._services]
        self._samples = [self._services[0].memory_mib] if self._services else []
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave.set()
        self._thread.join()
        if not self._services:
            return
        time.sleep(SETTLED)
        self.memory = Memory(self._samples[0], max(self._samples), self._services[0].memory_mib)
        self.restarted = [
            service.name
            for service, started in zip(self._services, self._started, strict=True)
            if service.started_at != started
        ]

    def _sample(self) -> None:
        while self._services and not self._leave.wait(0.5):
            with suppress(requests.Timeout):  # Docker is slow where the machine is full
                self._samples.append(self._services[0].memory_mib)


def aftermath(stack: Stack, watch: Watch) -> Iterator[str]:
    """What may not be once it is over."""
    for number, mode in enumerate(MODES):
        sent = ask(stack.frontend, *scripted(number, words=20), mode)
        if stack.frontend.model == "stand-in" and sent.outcome is not Outcome.RIGHT:
            yield f"a {mode} request of the usual kind is no more answered: {sent.outcome}: {sent.detail}"
    yield from (f"{name} has restarted" for name in watch.restarted)
    if watch.memory and watch.memory.highest > HIGHEST:
        yield f"the frontend held {watch.memory.highest:.0f} MiB, more than {HIGHEST}"
    if watch.memory and watch.memory.after - watch.memory.before > KEPT:
        yield f"the frontend keeps {watch.memory.after - watch.memory.before:.0f} MiB more than before, over {KEPT}"


if __name__ == "__main__":
    main()
