"""Text of every kind that a tokenizer's rules turn on, new with every seed."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

WORDS = (
    *("the", "of", "and", "to", "in", "is", "that", "It's", "was", "for", "on", "are", "with", "as", "I'm", "they'll"),
    *("tokenizer", "scheduler", "throughput", "prefill", "Karlsruhe", "naïve", "Straße", "déjà", "HTTPServer", "e2e"),
)
CODE = (
    "def f(x: int) -> str:\n    return f'{x:>10}'  # 100%\n",
    "for (int i = 0; i < n; ++i) { a[i] += b[i] * 0.5f; }\n",
    '{"a": [1, 2.50, null, true], "b": {"c": "d\\n"}}\n',
    "SELECT * FROM t WHERE x >= 10 AND y LIKE '%z%';\n\n",
    "\t\tif err != nil {\r\n\t\t\treturn err\r\n\t\t}\r\n",
)
SPECIAL = (
    "<｜begin▁of▁sentence｜>",
    "<｜end▁of▁sentence｜>",
    "<｜User｜>",
    "<｜Assistant｜>",
    "<think>",
    "</think>",
    "｜DSML｜",
    "<｜DS",
    "<|im_end|>",
    "<｜search▁begin｜>",
    "｜>",
)
SPACES = (" ", "  ", "\n", "\n\n", "\r\n", "\t", "   \n", "\u00a0", "\u2003", "\u200b", "\u2028", "\ufeff", "\x00")
RANGES = (
    (0x4E00, 0x9FFF),  # CJK
    (0x3040, 0x30FF),  # kana
    (0xAC00, 0xD7A3),  # hangul
    (0x0400, 0x04FF),  # cyrillic
    (0x0590, 0x06FF),  # hebrew, arabic
    (0x0900, 0x0DFF),  # indic
    (0x0300, 0x036F),  # combining
    (0x1F300, 0x1FAFF),  # emoji
    (0x20000, 0x2A6DF),  # rare CJK
    (0x2000, 0x2BFF),  # punctuation and symbols
)


def texts(source: random.Random, characters: int) -> Iterator[str]:
    """Texts of 0 to a few thousand characters, until there are this many characters in all."""
    made = 0
    while made < characters:
        text = "".join(_piece(source) for _ in range(source.choice((0, 1, 2, 5, 20, 60))))
        made += len(text) + 1
        yield text


def relatives(source: random.Random, characters: int) -> Iterator[str]:
    """A long text, and such that begin as it does and go on in another way: what is remembered of one meets the next.

    As many characters are shared as make a cache worth its while; where they part, there may be a run of one character.
    """
    text = "".join(texts(source, characters))
    for _ in range(4):
        yield text
        cut = source.choice((source.randrange(len(text)), len(text) - source.choice((0, 1, 2, 9, 300))))
        text = text[: max(cut, 0)] + source.choice(" \nx1好") * source.choice((0, 1, 700)) + _piece(source)


def _piece(source: random.Random) -> str:
    match source.randrange(9):
        case 0 | 1:
            return " ".join(source.choices(WORDS, k=source.randrange(1, 30)))
        case 2:
            return source.choice(CODE)
        case 3:
            first, last = source.choice(RANGES)
            text = "".join(chr(source.randint(first, last)) for _ in range(source.randrange(1, 12)))
            return unicodedata.normalize("NFD", text) if source.random() < 0.2 else text
        case 4:
            return source.choice(SPECIAL)
        case 5:
            return "".join(source.choices(SPACES, k=source.randrange(1, 5)))
        case 6:
            return "".join(source.choices("0123456789.,-+eE_", k=source.randrange(1, 24)))
        case 7:
            return source.randbytes(source.randrange(1, 40)).decode("utf-8", "replace")
        case _:
            return source.choice("aA0. ~\n好") * source.randrange(1, 200)
