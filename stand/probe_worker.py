"""A Dynamo worker without an engine: it answers each request with the digest of its prompt.

It runs in the engine image, behind the frontends with Dynamo's own chat processors (compose profile ``stock``), and
registers the pinned checkpoint as Dynamo's SGLang worker would: the same parsers, and the real architecture, so that
Dynamo finds its own DeepSeek-V4 formatter.

Usage: python probe_worker.py MODEL_NAME CHECKPOINT
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dynamo.llm import ModelInput, ModelRuntimeConfig, ModelType, WorkerType, register_model
from dynamo.runtime import DistributedRuntime
from tokenizers import Tokenizer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


def checkpoint_with_real_architecture(stand_in: Path) -> Path:
    """A copy of the stand-in checkpoint whose configuration names the model that it stands for."""
    copy = Path(tempfile.mkdtemp(prefix="checkpoint-"))
    for file in stand_in.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    config = json.loads((copy / "config.json").read_text(encoding="utf-8"))
    config |= {"architectures": ["DeepseekV4ForCausalLM"], "model_type": "deepseek_v4"}
    (copy / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return copy


async def serve(name: str, stand_in: Path) -> None:
    checkpoint = checkpoint_with_real_architecture(stand_in)
    tokenizer = Tokenizer.from_file(str(checkpoint / "tokenizer.json"))

    async def generate(request: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        packed = b"".join(each.to_bytes(4, "little") for each in request["token_ids"])
        answer = tokenizer.encode(f"sha256 {hashlib.sha256(packed).hexdigest()}", add_special_tokens=False).ids
        yield {"token_ids": [*answer, 1], "finish_reason": "stop"}

    runtime = DistributedRuntime(
        asyncio.get_running_loop(),
        os.environ["DYN_DISCOVERY_BACKEND"],
        os.environ["DYN_REQUEST_PLANE"],
        event_plane=os.environ["DYN_EVENT_PLANE"],
    )
    endpoint = runtime.endpoint("dynamo.backend.generate")
    config = ModelRuntimeConfig()
    config.tool_call_parser, config.reasoning_parser = "deepseekv4", "deepseek-v4"
    config.context_length = 65536
    await register_model(
        ModelInput.Tokens,
        ModelType.Chat,
        endpoint,
        str(checkpoint),
        name,
        runtime_config=config,
        worker_type=WorkerType.Aggregated,
        ignore_weights=True,
    )
    await endpoint.serve_endpoint(generate)


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], Path(sys.argv[2])))
