"""The two servers as a client sees them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import httpx

from .answers import Answer, Refusal, read_body, read_stream

Mode = Literal["unary", "stream"]
MODES: tuple[Mode, ...] = ("unary", "stream")
Body = Mapping[str, Any]

PATH = "/v1/chat/completions"
TIMEOUT = httpx.Timeout(120, connect=5)


@dataclass(frozen=True, slots=True)
class Server:
    """One server, and how it is asked to say what prompt it made.

    Attributes:
        name: ``frontend`` or ``reference``.
        url: where it listens.
        model: the model that requests name.
    """

    name: Literal["frontend", "reference"]
    url: str
    model: str
    client: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=TIMEOUT), repr=False, compare=False)

    def ask(self, body: Body, mode: Mode) -> Answer | Refusal:
        """Sends one chat request and reads the whole answer, with the prompt that was made of the request."""
        extras: Body = {}
        headers = {}
        if self.name == "frontend":
            extras = {"nvext": {"extra_fields": ["prompt_token_ids", "prompt"]}}
        else:
            headers = {"x-sglext-return-input-ids": "1"}
        if mode == "stream":
            extras = {"stream_options": {"include_usage": True}, **extras}

        with self.open({**extras, **body}, mode, headers) as response:
            if response.status_code != 200:
                return refusal(response)
            answer = read_body(json.loads(response.read())) if mode == "unary" else read_stream(response.iter_bytes())
        if self.name == "reference":
            answer = replace(answer, prompt=self._text_of(answer.prompt_token_ids))
        return answer

    @contextmanager
    def open(self, body: Body, mode: Mode, headers: Mapping[str, str] | None = None) -> Iterator[httpx.Response]:
        """Sends one chat request; the answer is still to be read."""
        whole = {"model": self.model, "stream": mode == "stream", **body}
        with self.client.stream("POST", f"{self.url}{PATH}", json=whole, headers=headers) as response:
            yield response

    def send(self, content: bytes) -> Refusal:
        """Sends these bytes as they are, as a request that is to be refused."""
        headers = {"content-type": "application/json"}
        return refusal(self.client.post(f"{self.url}{PATH}", content=content, headers=headers))

    def models(self) -> list[str]:
        """What ``/v1/models`` lists."""
        listed = self.client.get(f"{self.url}/v1/models", timeout=5).raise_for_status().json()
        return [model["id"] for model in listed["data"]]

    def _text_of(self, token_ids: tuple[int, ...]) -> str:
        body = {"tokens": list(token_ids), "skip_special_tokens": False}
        text: str = self.client.post(f"{self.url}/detokenize", json=body).raise_for_status().json()["text"]
        return text


def refusal(response: httpx.Response) -> Refusal:
    """Reads an answer that is no 200; an answer of 200 is read too, for the message that says it should not be."""
    content_type = response.headers.get("content-type", "")
    return Refusal(response.status_code, content_type, response.read().decode("utf-8", "replace"))
