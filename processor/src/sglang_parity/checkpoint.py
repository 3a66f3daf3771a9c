"""A checkpoint as the processor needs it: its configuration and its tokenizer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokenizers import Tokenizer

from sglang_parity.tokenize import PromptTokenizer, prompt_tokenizer

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a checkpoint directory says, read once.

    Attributes:
        path: the directory. In a frontend it holds ``config.json`` and the tokenizer files only.
        config: the parsed ``config.json``.
        generation_config: the parsed ``generation_config.json``, empty where there is none.
        tokenizer: the tokenizer of ``tokenizer.json``, which decides.
        tokenize: gives its ids, faster.
        bos_token_id: id of the beginning-of-sentence token, or None where the tokenizer has none.
        eos_token_ids: ids that end a generation.
        has_chat_template: whether the tokenizer ships a chat template. SGLang's choice of encoder depends on it.
    """

    path: Path
    config: dict[str, Any]
    generation_config: dict[str, Any]
    tokenizer: Tokenizer
    tokenize: PromptTokenizer
    bos_token_id: int | None
    eos_token_ids: tuple[int, ...]
    has_chat_template: bool

    @classmethod
    def load(cls, path: Path) -> Checkpoint:
        """Reads a checkpoint directory.

        Raises:
            FileNotFoundError: ``config.json`` or ``tokenizer.json`` is missing.
        """
        config = _read_json(path / "config.json")
        tokenizer_config = _read_json_if_there(path / "tokenizer_config.json")
        generation_config = _read_json_if_there(path / "generation_config.json")
        tokenizer = Tokenizer.from_file(str(path / "tokenizer.json"))

        eos = generation_config.get("eos_token_id", config.get("eos_token_id"))
        if eos is None:
            eos = _special_token_id(tokenizer, tokenizer_config, "eos_token")
        return cls(
            path=path,
            config=config,
            generation_config=generation_config,
            tokenizer=tokenizer,
            tokenize=prompt_tokenizer(path / "tokenizer.json", tokenizer),
            bos_token_id=_special_token_id(tokenizer, tokenizer_config, "bos_token"),
            eos_token_ids=() if eos is None else tuple(eos) if isinstance(eos, list) else (eos,),
            has_chat_template="chat_template" in tokenizer_config or (path / "chat_template.jinja").exists(),
        )


def _special_token_id(tokenizer: Tokenizer, tokenizer_config: dict[str, Any], name: str) -> int | None:
    token = tokenizer_config.get(name)
    content = token.get("content") if isinstance(token, dict) else token
    return None if content is None else tokenizer.token_to_id(content)


def _read_json(path: Path) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return parsed


def _read_json_if_there(path: Path) -> dict[str, Any]:
    return _read_json(path) if path.exists() else {}
