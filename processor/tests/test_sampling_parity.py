"""For every recorded request, Dynamo's worker gives the engine what SGLang would, or the refusal is SGLang's."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import replace
from importlib.metadata import distribution
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from dynamo.common.backend.logprobs import build_sglang_logprob_kwargs
from dynamo.common.utils.guided_json import reject_nonprogressing_guided_json_ref_cycles
from dynamo.common.utils.structural_tag import serialize_structural_tag
from dynamo.sglang.thinking_budget import apply_thinking_budget
from sglang_parity.errors import RequestError
from sglang_parity.host.bodies import router_request
from sglang_parity.models import load_model
from sglang_parity.prepare import prepare
from sglang_parity.sampling import sampling_params

if TYPE_CHECKING:
    from collections.abc import Callable

    from sglang_parity.checkpoint import Checkpoint

FIXTURE = Path(__file__).parents[2] / "fixtures" / "sampling_parity" / "deepseek-v4.json"
CASES: list[dict[str, Any]] = json.loads(FIXTURE.read_text(encoding="utf-8"))["cases"]

# What SGLang's engine gets and Dynamo's worker has no place for.
MATCHED_BY_THE_PROCESSOR = {"stop", "skip_special_tokens"}  # it turns the ids into text
LOST = {"stop_regex", "no_stop_trim", "logit_bias", "custom_params", "spaces_between_special_tokens"}


def worker_functions() -> dict[str, Any]:
    """Dynamo's own code that maps a request to sampling parameters, taken out of its modules: they import SGLang."""
    wanted = {
        "dynamo/sglang/request_handlers/handler_base.py": {"_get_guided_decoding_params"},
        "dynamo/sglang/request_handlers/llm/decode_handler.py": {
            "_SAMPLING_OPTION_FIELDS",
            "_sampling_option_params",
            "_build_sampling_params",
        },
    }
    found: list[ast.stmt] = []
    for path, names in wanted.items():
        module = ast.parse(Path(str(distribution("ai-dynamo").locate_file(path))).read_text(encoding="utf-8"))
        found += [node for node in ast.walk(module) if isinstance(node, ast.stmt) and names & names_of(node)]
    imported = (json, re, reject_nonprogressing_guided_json_ref_cycles, serialize_structural_tag, apply_thinking_budget)
    namespace: dict[str, Any] = {value.__name__: value for value in imported}
    future = ast.parse("from __future__ import annotations").body
    exec(compile(ast.Module([*future, *found], []), "dynamo.sglang", "exec"), namespace)
    return namespace


def names_of(node: ast.stmt) -> set[str]:
    """What a statement defines."""
    match node:
        case ast.FunctionDef(name=name):
            return {name}
        case ast.Assign(targets=[ast.Name(id=name)]):
            return {name}
        case _:
            return set()


@pytest.fixture(scope="module")
def worker() -> Callable[[dict[str, Any]], dict[str, Any]]:
    """The worker's mapping, for a server that detokenizes."""
    functions = worker_functions()
    handler = SimpleNamespace(
        use_sglang_tokenizer=False,
        config=SimpleNamespace(server_args=SimpleNamespace(skip_tokenizer_init=False)),
        _get_guided_decoding_params=functions["_get_guided_decoding_params"],
    )
    return lambda request: functions["_build_sampling_params"](handler, request)


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
@pytest.mark.filterwarnings("ignore:SGLANG_TOOL_STRICT_LEVEL")
def test_the_engine_gets_what_sglang_would_give_it(
    case: dict[str, Any],
    checkpoint: Checkpoint,
    worker: Callable[[dict[str, Any]], dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("SGLANG_TOOL_STRICT_LEVEL", raising=False)
    for name, value in case.get("server", {}).get("env", {}).items():
        monkeypatch.setenv(name, value)
    try:
        preprocessed = processed(case, checkpoint)
    except RequestError as error:
        found = {"error": {"status": error.status, "type": error.kind, "message": error.message}}
        assert found == {"error": case.get("error")}
        return
    assert "error" not in case, f"SGLang refuses it: {case['error']}"
    assert as_the_engine_has_it(worker(preprocessed)) == as_the_engine_has_it(case["sampling_params"])
    assert preprocessed["require_reasoning"] == case["require_reasoning"]
    assert preprocessed["output_options"]["skip_special_tokens"] == case["sampling_params"]["skip_special_tokens"]
    logprobs = build_sglang_logprob_kwargs(preprocessed["output_options"])
    assert logprobs.get("return_logprob", False) == case["return_logprob"]
    if case["return_logprob"]:
        assert logprobs["top_logprobs_num"] == case["top_logprobs_num"]


def processed(case: dict[str, Any], checkpoint: Checkpoint) -> dict[str, Any]:
    """The request that Dynamo's router is given."""
    server = {"tool_call_parser": "deepseekv4", "reasoning_parser": "deepseek-v4", **case.get("server", {})}
    served = replace(checkpoint, generation_config=server.get("generation_config", checkpoint.generation_config))
    model = load_model(
        served,
        tool_call_parser=server["tool_call_parser"],
        reasoning_parser=server["reasoning_parser"],
        context_length=server.get("context_length"),
    )
    prepared = prepare(case["request"], model)
    return router_request(prepared, sampling_params(prepared, model), served.eos_token_ids)


def as_the_engine_has_it(params: dict[str, Any]) -> dict[str, Any]:
    """Sampling parameters without what is not carried, as ``SamplingParams`` reads them: null and empty are unset."""
    held = {name: value for name, value in params.items() if value not in (None, "")}
    for name in MATCHED_BY_THE_PROCESSOR | LOST:
        held.pop(name, None)
    if "stop_token_ids" in held:
        held["stop_token_ids"] = set(held["stop_token_ids"])
    return held


def test_the_fixture_shows_every_kind_of_constraint() -> None:
    kinds = {kind for case in CASES for kind, value in case.get("sampling_params", {}).items() if value}
    assert {"json_schema", "structural_tag", "regex", "ebnf"} <= kinds
    assert len({case["name"] for case in CASES}) == len(CASES) >= 60


@pytest.mark.parametrize("name", sorted(LOST))
def test_what_is_lost_is_said_in_some_request(name: str) -> None:
    """A field that is listed as lost is one that a request can set."""
    unset = CASES[0]["sampling_params"][name]
    assert any(case["sampling_params"][name] != unset for case in CASES if "sampling_params" in case)
