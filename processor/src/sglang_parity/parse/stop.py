"""Output text with stop strings: token ids go in, the text that may be shown comes out."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sglang_parity.parse.detokenize import Detokenizer, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenizers import Tokenizer

# A request that does not stream still hands text on every 50 tokens (SGLANG_FORCE_STREAM_INTERVAL).
UNARY_HANDOVER_INTERVAL = 50

_HEAD = 8  # characters by which a longer beginning of a stop string is looked for


@dataclass(frozen=True, slots=True)
class StopStrings:
    """The stop strings of one request.

    Attributes:
        strings: in the request's order. Where two match at the same token, the first listed wins.
        window: how many of the latest tokens are searched: the longest stop string's own tokens and one more.
            A stop string that the model spells with more tokens than that is not seen.
    """

    strings: tuple[str, ...]
    window: int

    @classmethod
    def of(cls, strings: Sequence[str], tokenizer: Tokenizer) -> StopStrings:
        """Measures the stop strings (SGLang: ``sampling/sampling_params.py``, ``normalize``)."""
        longest = max((len(tokenizer.encode(string, add_special_tokens=False).ids) for string in strings), default=0)
        return cls(tuple(strings), longest + 1)

    def first_in(self, text: str) -> str | None:
        """The first listed stop string that the text contains."""
        return next((string for string in self.strings if string in text), None)

    def may_begin_at_end_of(self, text: str) -> bool:
        """Whether the text ends in what could become a stop string."""
        return any(_ends_in_beginning(text, string) for string in self.strings)


def _ends_in_beginning(text: str, string: str) -> bool:
    """Whether the text ends in a beginning, not the whole, of the string; quick where both are long."""
    longest = min(len(string) - 1, len(text))
    head = string[:_HEAD]
    if any(text.endswith(head[:length]) for length in range(1, min(longest, len(head)) + 1)):
        return True
    start = text.find(head, len(text) - longest)
    while start >= 0 and not string.startswith(text[start:]):
        start = text.find(head, start + 1)
    return start >= 0


class OutputText:
    """The text of one choice, cut at the first stop string.

    Mirrors one token per engine step: ``managers/schedule_batch.py`` (``_check_str_based_finish``,
    ``check_match_stop_str_prefix``) finds the stop string in the latest tokens, special tokens shown;
    ``managers/detokenizer_manager.py`` (``trim_matched_stop``) cuts the shown text at the first place where that
    string stands. A streamed output is held back while its end could become a stop string. A unary one is not:
    SGLang hands its text on at every 50th token, and keeps a piece of a stop string that lies across that point.

    Attributes:
        matched: the stop string that ended the output, or None.
        token_count: ids read, up to and including the one that completed the stop string.
    """

    def __init__(
        self, vocabulary: Vocabulary, stops: StopStrings, *, skip_special_tokens: bool, streamed: bool
    ) -> None:
        self.matched: str | None = None
        self.token_count = 0
        self._vocabulary = vocabulary
        self._stops = stops
        self._streamed = streamed
        self._detokenizer = Detokenizer(vocabulary, skip_special_tokens=skip_special_tokens)
        self._latest: deque[int] = deque(maxlen=stops.window)
        self._latest_bytes = bytearray()
        self._tail = ""  # text of the latest tokens
        self._held: list[int] = []
        self._shown: list[str] = []

    def feed(self, token_ids: Sequence[int]) -> str:
        """The text that may be shown after these ids; the last text of all once ``matched`` is set."""
        if not self._stops.strings:
            self.token_count += len(token_ids)
            return self._detokenizer.feed(token_ids)
        released = 0
        for token_id in token_ids:
            if self._completes_stop(token_id):
                return self._show(released) + self._cut()
            if self._may_release():
                released = len(self._held)
        return self._show(released)

    def finish(self, token_ids: Sequence[int], *, stop_token: bool) -> str:
        """The text that is left when the engine ends the output with these ids, possibly none.

        With ``stop_token`` the engine stopped at the last of them, which is not shown. A stop string that this token
        completes wins over it.
        """
        text = self.feed(token_ids[:-1])
        if self.matched is not None:
            return text
        for last in token_ids[-1:]:
            if self._completes_stop(last):
                return text + self._cut()
            if stop_token:
                self._held.pop()
        return text + self._detokenizer.feed(self._held) + self._detokenizer.finish()

    def _completes_stop(self, token_id: int) -> bool:
        """Takes one more token; true once it completes a stop string."""
        self.token_count += 1
        self._held.append(token_id)
        if self._stops.strings:
            pieces = self._vocabulary.pieces
            if len(self._latest) == self._stops.window:
                del self._latest_bytes[: len(pieces[self._latest[0]])]
            self._latest.append(token_id)
            self._latest_bytes += pieces[token_id]
            self._tail = self._latest_bytes.decode("utf-8", "replace")
            self.matched = self._stops.first_in(self._tail)
        return self.matched is not None

    def _may_release(self) -> bool:
        if self._streamed:
            return not self._stops.may_begin_at_end_of(self._tail)
        return self.token_count % UNARY_HANDOVER_INTERVAL == 0

    def _show(self, count: int) -> str:
        """The text of the first held tokens, noted as shown."""
        text = self._detokenizer.feed(self._held[:count])
        del self._held[:count]
        self._shown.append(text)
        return text

    def _cut(self) -> str:
        """What is still to be shown of the output before the matched stop string."""
        assert self.matched is not None
        shown = "".join(self._shown)
        text = shown + self._detokenizer.feed(self._held) + self._detokenizer.finish()
        end = text.find(self.matched)
        if end < 0:  # the match was in a special token that is not shown
            end = len(text)
        return text[len(shown) : end]
