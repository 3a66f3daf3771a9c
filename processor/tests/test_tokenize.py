"""fastokens gives the ids of tokenizers, or is not used; `make equal-tokens` compares them on many megabytes."""

from __future__ import annotations

import logging
import random
from typing import TYPE_CHECKING

import pytest
from sglang_parity.tokenize import prompt_tokenizer
from texts import relatives, texts

if TYPE_CHECKING:
    from pathlib import Path

    from sglang_parity.checkpoint import Checkpoint


def test_both_give_the_same_ids(checkpoint: Checkpoint) -> None:
    for text in texts(random.Random(0), characters=300_000):
        assert checkpoint.tokenize(text) == checkpoint.tokenizer.encode(text).ids, repr(text)


def test_what_was_seen_before_gives_the_same_ids(checkpoint: Checkpoint) -> None:
    pieces = list(texts(random.Random(1), characters=20_000))
    for turns in range(len(pieces)):
        conversation = "<｜User｜>".join(pieces[: turns + 1])
        assert checkpoint.tokenize(conversation) == checkpoint.tokenizer.encode(conversation).ids, repr(conversation)


def test_texts_that_part_where_they_were_alike_give_the_same_ids(checkpoint: Checkpoint) -> None:
    source = random.Random(2)
    for _ in range(20):
        for text in relatives(source, characters=6000):
            assert checkpoint.tokenize(text) == checkpoint.tokenizer.encode(text).ids, repr(text)


def test_fastokens_is_taken_where_it_is_right(checkpoint: Checkpoint, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        prompt_tokenizer(checkpoint.path / "tokenizer.json", checkpoint.tokenizer)
    assert caplog.messages == ["prompts are tokenized by fastokens"]


@pytest.mark.parametrize(
    ("file", "said"), [("no_such_file.json", "fastokens cannot"), ("other.json", "fastokens differs from it on")]
)
def test_tokenizers_is_the_fallback(
    checkpoint: Checkpoint, tmp_path: Path, caplog: pytest.LogCaptureFixture, file: str, said: str
) -> None:
    """Where fastokens cannot read the tokenizer, and where it gives other ids."""
    other = (checkpoint.path / "tokenizer.json").read_text(encoding="utf-8").replace("<｜User｜>", "<｜Nobody｜>")
    (tmp_path / "other.json").write_text(other, encoding="utf-8")
    tokenize = prompt_tokenizer(tmp_path / file, checkpoint.tokenizer)
    assert said in caplog.text
    assert tokenize("<｜User｜>Hi") == checkpoint.tokenizer.encode("<｜User｜>Hi").ids
