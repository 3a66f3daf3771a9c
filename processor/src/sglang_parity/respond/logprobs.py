"""Log probabilities of the generated tokens, as OpenAI shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sglang_parity.parse import Vocabulary


def logprob_entries(item: dict[str, Any], top: int, vocabulary: Vocabulary) -> list[dict[str, Any]]:
    """One entry per token of an engine item, empty where the item carries no logprobs.

    Mirrors ``serving_chat.py::_process_logprobs_tokens``: special tokens are shown, ``bytes`` are those of the text.

    Args:
        item: an engine item with ``token_ids``, ``log_probs`` and ``top_logprobs``.
        top: how many alternatives per token were asked for; the engine may give more.
        vocabulary: the tokenizer's.
    """
    log_probs: Sequence[float] = item.get("log_probs") or ()
    alternatives: Sequence[Sequence[dict[str, Any]]] = item.get("top_logprobs") or [()] * len(log_probs)
    return [
        _entry(token_id, logprob, vocabulary)
        | {"top_logprobs": [_entry(each["token_id"], each["logprob"], vocabulary) for each in ranked[:top]]}
        for token_id, logprob, ranked in zip(item["token_ids"], log_probs, alternatives, strict=False)
    ]


def _entry(token_id: int, logprob: float, vocabulary: Vocabulary) -> dict[str, Any]:
    text = vocabulary.decode([token_id])
    return {"token": text, "bytes": list(text.encode("utf-8")), "logprob": logprob}
