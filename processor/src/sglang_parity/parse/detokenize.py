"""Token ids to text, one engine step at a time."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokenizers.decoders import ByteLevel

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokenizers import Tokenizer

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

_UTF8 = codecs.getincrementaldecoder("utf-8")

# The blocks that SGLang's ``_is_chinese_char`` takes for CJK ideographs.
_CJK_BLOCKS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The bytes of every token of a byte-level tokenizer; built once, shared by all requests.

    Attributes:
        pieces: bytes by token id, ``b""`` for an id that names no token.
        visible_pieces: the same with special tokens emptied, as ``skip_special_tokens`` shows them.
    """

    pieces: tuple[bytes, ...]
    visible_pieces: tuple[bytes, ...]

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> Vocabulary:
        """Reads the vocabulary of a tokenizer.

        Raises:
            ValueError: the tokenizer does not decode by byte-level lookup.
        """
        if not isinstance(tokenizer.decoder, ByteLevel):
            raise ValueError(f"only byte-level tokenizers are supported, not decoder {tokenizer.decoder!r}")
        added_tokens = tokenizer.get_added_tokens_decoder()
        ids = tokenizer.get_vocab(with_added_tokens=True)
        pieces = [b""] * (max(ids.values()) + 1)
        for token, token_id in ids.items():
            pieces[token_id] = _token_bytes(token)
        visible_pieces = list(pieces)
        for token_id, added_token in added_tokens.items():
            if added_token.special:
                visible_pieces[token_id] = b""
        return cls(tuple(pieces), tuple(visible_pieces))

    def decode(self, token_ids: Iterable[int]) -> str:
        """The text of these ids alone, special tokens shown, broken characters as U+FFFD."""
        pieces = self.pieces
        return b"".join([pieces[token_id] for token_id in token_ids]).decode("utf-8", "replace")


class Detokenizer:
    """The text of one growing output.

    Mirrors ``managers/detokenizer_manager.py`` (``_decode_batch_token_id_output``): a step whose text ends in a
    whole character goes out at once; a step that ends inside a character gives only what ``find_printable_text``
    takes for settled, the rest comes with a later step. SGLang repeats text where two steps in a row end inside a
    character and the second shows less than the first did; here every character goes out once, so the joined text is
    the decoded output.
    """

    def __init__(self, vocabulary: Vocabulary, *, skip_special_tokens: bool) -> None:
        self._pieces = vocabulary.visible_pieces if skip_special_tokens else vocabulary.pieces
        self._utf8 = _UTF8("replace")
        self._held = ""

    def feed(self, token_ids: Iterable[int]) -> str:
        """The text that is certain after these ids; it never ends in half a character."""
        pieces = self._pieces
        text = self._held + self._utf8.decode(b"".join([pieces[token_id] for token_id in token_ids]))
        inside_character = bool(self._utf8.getstate()[0])
        if not inside_character and not text.endswith(REPLACEMENT):
            self._held = ""
            return text
        settled = _settled_length(text if inside_character else text[:-1])
        self._held = text[settled:]
        return text[:settled]

    def finish(self) -> str:
        """What is still held back once the output has ended; a character cut short comes as U+FFFD."""
        text = self._held + self._utf8.decode(b"", final=True)
        self._held = ""
        return text


def _settled_length(text: str) -> int:
    """How much of the text before an unfinished character goes out (SGLang: ``utils.py``, ``find_printable_text``)."""
    if text and _is_cjk(text[-1]):
        return len(text)
    return text.rfind(" ") + 1


def _is_cjk(character: str) -> bool:
    return any(first <= ord(character) <= last for first, last in _CJK_BLOCKS)


def _byte_of_character() -> dict[str, int]:
    """The byte that each character stands for in a byte-level vocabulary: printable Latin-1 characters stand for
    themselves, the other bytes, in order, for the characters from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(0x100) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + i): byte for i, byte in enumerate(others)}


_BYTE_OF_CHARACTER = _byte_of_character()


def _token_bytes(token: str) -> bytes:
    """A token's bytes; a token with a character outside the byte alphabet stands for its own UTF-8 text."""
    try:
        return bytes([_BYTE_OF_CHARACTER[character] for character in token])
    except KeyError:
        return token.encode("utf-8")
