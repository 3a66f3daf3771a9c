"""From a request's body to the ids of its prompt: the processor beside SGLang's own code, on the same bytes.

Runs in the engine image: ``fixtures/record/parity.py`` puts SGLang's chat handler together.

Of a next turn, a tenth goes into parsing JSON, a quarter each into the checks of its fields and the ids of text seen
before, the rest into writing the prompt. None of it tokenizes the history, and each touches it once.
"""

from __future__ import annotations

import gc
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conversations import conversation, next_turn
from parity import serve
from sglang.srt.entrypoints.openai.protocol import ChatCompletionRequest
from sglang_parity.checkpoint import Checkpoint
from sglang_parity.models import load_model
from sglang_parity.prepare import prepare
from sglang_parity.request import parse_json

if TYPE_CHECKING:
    import random
    from pathlib import Path

LENGTHS = {1_000: 20, 10_000: 10, 50_000: 6, 200_000: 4}  # tokens of a conversation: how many are timed
NEXT_TURN_OF = 50_000


@dataclass(frozen=True, slots=True)
class Times:
    """How long the same conversations took, in seconds.

    Attributes:
        tokens: of each conversation's prompt.
    """

    tokens: list[int]
    ours: list[float]
    theirs: list[float]


class DifferentIdsError(Exception):
    """The two made different ids of one conversation; the text says of which."""


class Prefill:
    """Both ways from body to ids, for one checkpoint."""

    def __init__(self, checkpoint: Path) -> None:
        self._model = load_model(
            Checkpoint.load(checkpoint), tool_call_parser="deepseekv4", reasoning_parser="deepseek-v4"
        )
        self._sglang = serve(checkpoint)

    def ours(self, body: bytes) -> list[int]:
        return prepare(parse_json(body.decode()), self._model).prompt.token_ids

    def theirs(self, body: bytes) -> list[int]:
        request = ChatCompletionRequest(**json.loads(body))
        refusal = self._sglang._validate_request(request)
        if refusal:
            raise ValueError(f"SGLang refuses the conversation: {refusal}")
        adapted, _ = self._sglang._convert_to_internal_request(request)
        ids: list[int] = adapted.input_ids
        return ids

    def unseen(self, source: random.Random, tokens: int, count: int) -> Times:
        """Times conversations of about so many tokens that neither has seen.

        Raises:
            DifferentIdsError: the ids are not the same.
        """
        return self._times([_as_sent(conversation(source, tokens)) for _ in range(count)])

    def next_turns(self, source: random.Random, tokens: int, count: int) -> Times:
        """Times the next turn of conversations that both have just read.

        Raises:
            DifferentIdsError: the ids are not the same.
        """
        served = [conversation(source, tokens) for _ in range(count)]
        self._times([_as_sent(body) for body in served])
        return self._times([_as_sent(next_turn(source, body)) for body in served])

    def _times(self, bodies: list[bytes]) -> Times:
        times = Times([], [], [])
        for number, body in enumerate(bodies):
            turns = [(self.ours, times.ours), (self.theirs, times.theirs)]
            found = []
            for to_ids, seconds in turns if number % 2 else reversed(turns):
                gc.collect(1)  # neither is charged for the young objects that the other leaves behind
                started = time.perf_counter()
                found.append(to_ids(body))
                seconds.append(time.perf_counter() - started)
            if found[0] != found[1]:
                raise DifferentIdsError(body.decode())
            times.tokens.append(len(found[0]))
        return times


def _as_sent(body: dict[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode()
