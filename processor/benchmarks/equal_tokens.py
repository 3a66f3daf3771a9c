"""Compares fastokens with tokenizers on generated text: ``equal_tokens.py CHECKPOINT [--megabytes N] [--seed N]``.

Exit status 1, and the text, at the first difference.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import fastokens
from texts import relatives, texts
from tokenizers import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator

RELATED_EVERY = 400  # texts


def related_and_not(source: random.Random) -> Iterator[str]:
    """Texts without end: each on its own, and some that share a beginning with the one before."""
    while True:
        yield from itertools.islice(texts(source, characters=sys.maxsize), RELATED_EVERY)
        yield from relatives(source, characters=8000)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--megabytes", type=float, default=50)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    file = str(options.checkpoint / "tokenizer.json")
    slow, fast = Tokenizer.from_file(file), fastokens.Tokenizer.from_file(file)
    fast.enable_segment_cache(64 << 20)
    started, size, tokens, number = time.monotonic(), 0, 0, 0
    for text in related_and_not(random.Random(options.seed)):
        ids = slow.encode(text).ids
        if fast.encode(text, add_special_tokens=True).ids != ids:
            sys.exit(f"the two differ on text {number} of seed {options.seed}: {text!r}")
        size, tokens, number = size + len(text.encode("utf-8")), tokens + len(ids), number + 1
        if size >= options.megabytes * 1e6:
            break
        if number % 20_000 == 0:
            print(f"{size / 1e6:.0f} MB equal, {time.monotonic() - started:.0f} s", flush=True)
    print(f"equal: {number} texts, {size / 1e6:.1f} MB, {tokens} tokens, {time.monotonic() - started:.0f} s")
