"""One response: engine items go in, chunks come out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sglang_parity.errors import EngineError
from sglang_parity.parse import OutputText, ReasoningTokens, StreamParser, parse_whole
from sglang_parity.respond.logprobs import logprob_entries

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sglang_parity.parse import OutputFormat, ParseOptions, StopStrings, Vocabulary
    from sglang_parity.request import ChatRequest
    from sglang_parity.respond.chunks import Chunk, Chunks

# Dynamo's finish reasons of a generation that ended well, as OpenAI's.
_FINISH_REASONS = {"eos": "stop", "stop": "stop", "length": "length"}


@dataclass(frozen=True, slots=True)
class Reading:
    """How one request's output is read.

    Attributes:
        vocabulary: the tokenizer's.
        stops: the request's stop strings.
        output_format: the model's reasoning and tool-call formats.
        options: what the request says about them.
        reasoning_end_id: id that ends reasoning, None where reasoning is not counted.
    """

    vocabulary: Vocabulary
    stops: StopStrings
    output_format: OutputFormat
    options: ParseOptions
    reasoning_end_id: int | None


class Answer:
    """What the streamed and the whole answer share: the state of each choice, and the usage."""

    def __init__(self, request: ChatRequest, prompt_tokens: int, reading: Reading, chunks: Chunks) -> None:
        self._request = request
        self._prompt_tokens = prompt_tokens
        self._reading = reading
        self._chunks = chunks
        self._choices = [_Choice(request, reading) for _ in range(request.n)]

    @property
    def finished(self) -> bool:
        return all(choice.finish_reason for choice in self._choices)

    def _usage(self, choices: Sequence[_Choice]) -> dict[str, Any]:
        """``usage`` as ``usage_processor.py`` counts it: the prompt once, the choices summed."""
        completion_tokens = sum(choice.text.token_count for choice in choices)
        reasoning_tokens = sum(choice.reasoning_tokens.count for choice in choices)
        return {
            "prompt_tokens": self._prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": self._prompt_tokens + completion_tokens,
            "completion_tokens_details": {"reasoning_tokens": reasoning_tokens},
        }

    def _refuse_half_answer(self) -> None:
        if not self.finished:
            raise EngineError("the worker ended the stream before the answer was finished")


@dataclass(frozen=True, slots=True)
class _Step:
    """What one engine item adds to a choice.

    Attributes:
        text: may be shown now; it may be empty, or end before the step's last token does.
        logprobs: one entry per token of the step, up to a stop string; empty where none were asked for.
    """

    text: str
    logprobs: list[dict[str, Any]]


class _Choice:
    """One choice as far as it has been generated.

    Attributes:
        text: its text, up to a stop string.
        reasoning_tokens: how many of its tokens are reasoning.
        finish_reason: OpenAI's, None while it is being generated. ``tool_calls`` is not yet put in.
    """

    def __init__(self, request: ChatRequest, reading: Reading) -> None:
        self.text = OutputText(
            reading.vocabulary,
            reading.stops,
            skip_special_tokens=request.skip_special_tokens,
            streamed=request.stream,
        )
        self.reasoning_tokens = ReasoningTokens(reading.reasoning_end_id)
        self.finish_reason: str | None = None
        self._vocabulary = reading.vocabulary
        self._top_logprobs = (request.top_logprobs or 0) if request.logprobs else None

    def read(self, item: dict[str, Any]) -> _Step:
        """Takes one engine item.

        Raises:
            EngineError: the engine gave the generation up.
        """
        token_ids: list[int] = item["token_ids"]
        engine_reason = item.get("finish_reason")
        seen = self.text.token_count
        if engine_reason is None:
            text = self.text.feed(token_ids)
        else:
            self.finish_reason = _FINISH_REASONS.get(engine_reason)
            if self.finish_reason is None:
                raise EngineError(f"the engine ended the generation with {engine_reason!r}")
            text = self.text.finish(token_ids, stop_token=self.finish_reason == "stop")
        if self.text.matched is not None:
            self.finish_reason = "stop"
        count = self.text.token_count - seen
        self.reasoning_tokens.feed(token_ids[:count])
        if self._top_logprobs is None:
            return _Step(text, [])
        return _Step(text, logprob_entries(item, self._top_logprobs, self._vocabulary)[:count])


class StreamedAnswer(Answer):
    """An answer sent as it comes (``serving_chat.py::_generate_chat_stream``)."""

    def __init__(self, request: ChatRequest, prompt_tokens: int, reading: Reading, chunks: Chunks) -> None:
        super().__init__(request, prompt_tokens, reading, chunks)
        self._parsers = [StreamParser(reading.output_format, reading.options) for _ in self._choices]
        self._called_tool = [False] * request.n
        self._started = [False] * request.n
        self._ended: list[int] = []
        options = request.stream_options
        self._include_usage = bool(options and options.include_usage)
        self._continuous_usage = bool(options and options.continuous_usage_stats)

    def feed(self, item: dict[str, Any]) -> Iterator[Chunk]:
        """The chunks of one engine item.

        Logprobs ride on a step's first chunk, or follow it in a chunk of their own where that is held back or comes
        from the tool-call parser (``serving_chat.py::_generate_stream_content``).

        Raises:
            EngineError: the engine gave the generation up.
        """
        index = item.get("index") or 0
        choice, parser, chunks = self._choices[index], self._parsers[index], self._chunks
        if choice.finish_reason:  # ended by a stop string; the engine has not noticed yet
            return
        # First, so that a generation that fails at its first item sends nothing, and gets a status of its own.
        step = choice.read(item)
        if not self._started[index]:
            self._started[index] = True
            yield chunks.role(index)

        delta = parser.finish(step.text) if choice.finish_reason else parser.feed(step.text)
        sent = []
        if delta.reasoning:
            sent.append(chunks.reasoning(index, delta.reasoning))
        if delta.content:
            sent.append(chunks.content(index, delta.content))
        sent += [chunks.tool_call(index, call) for call in delta.tool_calls]
        if self._request.logprobs:
            if delta.reasoning or (delta.content and self._reading.options.tool_names is None):
                sent[0]["choices"][0]["logprobs"] = {"content": step.logprobs}
            elif self._reading.output_format.has_parser:
                sent.append(chunks.logprobs(index, step.logprobs))
        for chunk in sent:
            if self._continuous_usage:
                chunk["usage"] = self._usage([choice])
            yield chunk

        self._called_tool[index] |= bool(delta.tool_calls)
        if choice.finish_reason:
            self._ended.append(index)

    def finish(self) -> Iterator[Chunk]:
        """The chunks that end the stream: the finish reasons in the order in which the choices ended.

        Raises:
            EngineError: a choice has not been finished: what has been sent is no whole answer.
        """
        self._refuse_half_answer()
        for index in self._ended:
            reason = self._choices[index].finish_reason
            assert reason is not None
            called = self._called_tool[index] and reason == "stop"
            yield self._chunks.finish(index, "tool_calls" if called else reason)
        if self._include_usage:
            yield self._chunks.usage(self._usage(self._choices))


class WholeAnswer(Answer):
    """An answer sent when it is complete (``serving_chat.py::_build_chat_response``)."""

    def __init__(self, request: ChatRequest, prompt_tokens: int, reading: Reading, chunks: Chunks) -> None:
        super().__init__(request, prompt_tokens, reading, chunks)
        self._texts: list[list[str]] = [[] for _ in self._choices]
        self._logprobs: list[list[dict[str, Any]]] = [[] for _ in self._choices]

    def feed(self, item: dict[str, Any]) -> Iterator[Chunk]:
        """Nothing goes out before the end.

        Raises:
            EngineError: the engine gave the generation up.
        """
        index = item.get("index") or 0
        choice = self._choices[index]
        if not choice.finish_reason:
            step = choice.read(item)
            self._texts[index].append(step.text)
            self._logprobs[index] += step.logprobs
        yield from ()

    def finish(self) -> Iterator[Chunk]:
        """One chunk per choice, and the usage.

        Raises:
            EngineError: a choice has not been finished.
        """
        self._refuse_half_answer()
        for index, choice in enumerate(self._choices):
            message = parse_whole("".join(self._texts[index]), self._reading.output_format, self._reading.options)
            assert choice.finish_reason is not None
            called = bool(message.tool_calls) and choice.finish_reason == "stop"
            yield self._chunks.whole(
                index,
                message,
                "tool_calls" if called else choice.finish_reason,
                self._logprobs[index] if self._request.logprobs else None,
            )
        yield self._chunks.usage(self._usage(self._choices))
