"""Lets the torchvision of the package index, a CUDA build, be imported beside a CPU build of torch.

Its compiled operators cannot load there, and torchvision then fails while it describes two of them. SGLang imports
torchvision but calls neither, so declaring them is enough. Loaded at interpreter start by ``torchvision_on_cpu.pth``;
costs nothing until torchvision is imported.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


class _DeclareOperators:
    library: object  # the declarations live as long as this does

    def find_spec(
        self, name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == "torchvision":
            sys.meta_path.remove(self)  # type: ignore[arg-type]
            import torch

            library = torch.library.Library("torchvision", "DEF")
            for operator in ("nms", "qnms"):
                library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
            type(self).library = library
        return None


sys.meta_path.insert(0, _DeclareOperators())  # type: ignore[arg-type]
