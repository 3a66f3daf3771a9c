"""The model families: how each is prompted, and how its outputs are read and constrained.

One folder per family, which exports its ``Family``, and one line for it in ``registry.FAMILIES``.
"""

from sglang_parity.models.registry import ChatModel, UnsupportedModelError, load_model

__all__ = ["ChatModel", "UnsupportedModelError", "load_model"]
