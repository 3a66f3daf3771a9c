"""Prompt text → token ids, by fastokens where it gives the ids that ``tokenizers`` gives.

SGLang tokenizes with ``tokenizers``, which decides. fastokens reads the same ``tokenizer.json``, is tens of times
faster on text that it has not seen, lets go of the interpreter while it works, and remembers the text between added
tokens: the next turn of a conversation costs what is new in it.
"""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from tokenizers import Tokenizer

logger = logging.getLogger(__name__)

_CACHE_BYTES = 64 << 20  # text and ids of what has been tokenized, for all conversations together

# fastokens keeps its working memory with the thread: 50 bytes for each character of the longest run without a boundary.
# A text longer than this has a thread of its own, and the memory goes with it.
_LONG = 1 << 20

# What the two are compared on at start-up: one of each kind that a tokenizer's rules turn on, and its added tokens.
# `make equal-tokens` compares them on many megabytes.
_SAMPLES = (
    "",
    " ",
    "Hello, world! It's 12:34 – 1234567 items.\n\n\tdef f(x):\r\n        return x  # 100%\n",
    "敏捷的棕色狐狸𠜎𠮷。すばやい茶色の狐。빠른 여우 שלום مرحبا क्षि กำ้",
    "👩🏽‍🚀👨‍👩‍👧‍👦🏳️‍🌈 🜁𓀀 e\u0301 o\u0308\u0323 Z͑ͫ̓a \u200b\u2028\ufeff\u0000\u00a0 x",
    "   leading, trailing   \n \n  \n",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa0000000000000000000000000",
)


class PromptTokenizer(Protocol):
    """Turns prompt text into token ids."""

    def __call__(self, text: str) -> list[int]:
        """The ids of ``text``; what looks like an added token becomes one."""
        ...


def prompt_tokenizer(file: Path, tokenizer: Tokenizer) -> PromptTokenizer:
    """The fastest tokenizer that gives the ids of ``tokenizer``, which was read from ``file``; the choice is logged."""

    def slow(text: str) -> list[int]:
        ids: list[int] = tokenizer.encode(text).ids
        return ids

    try:
        import fastokens

        encoder = fastokens.Tokenizer.from_file(str(file))
        encoder.enable_segment_cache(_CACHE_BYTES)
    except Exception as error:  # not installed, or a tokenizer.json that it does not support
        logger.warning("prompts are tokenized by tokenizers, slowly: fastokens cannot (%s)", error)
        return slow

    def encode(text: str) -> list[int]:
        ids: list[int] = encoder.encode(text, add_special_tokens=True).ids
        return ids

    def fast(text: str) -> list[int]:
        if len(text) <= _LONG:
            return encode(text)
        with ThreadPoolExecutor(1, thread_name_prefix="long-prompt") as thread:
            return thread.submit(encode, text).result()

    added = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
    for sample in (*_SAMPLES, "".join(added), " a ".join(added)):
        if fast(sample) != slow(sample):
            logger.warning("prompts are tokenized by tokenizers, slowly: fastokens differs from it on %r", sample)
            return slow
    logger.info("prompts are tokenized by fastokens")
    return fast
