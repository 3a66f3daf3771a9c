from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from workload import Fit, Request, WorkloadError, kinds_of, names, request

if TYPE_CHECKING:
    from prompts import Prompts

pytest_plugins = ["stand_in"]

SPECIAL = ("<｜search▁begin｜>", "<｜search▁end｜>")


def asked(prompts: Prompts, name: str, count: int, scripted: bool = True, seed: int = 0) -> list[Request]:
    order, fits = kinds_of(name), prompts.fits(name, scripted)
    return [request(number, order, fits, seed) for number in range(count)]


@pytest.mark.parametrize("scripted", [True, False])
@pytest.mark.parametrize("name", names())
def test_prompts_are_exactly_as_long_as_said(prompts: Prompts, name: str, scripted: bool) -> None:
    requests = asked(prompts, name, 60, scripted)
    said = [each.prompt_tokens for each in requests]
    assert [prompts.length(each.body) for each in requests] == said
    shortest = {kind.name: kind.prompt_tokens[0] for kind in kinds_of(name)}
    assert all(each.prompt_tokens >= shortest[each.kind] for each in requests)


@pytest.mark.parametrize("name", ["tool-loop", "reasoning"])
def test_scripts_are_exactly_as_long_as_the_answer(prompts: Prompts, name: str) -> None:
    for each in asked(prompts, name, 32):
        last = each.body["messages"][-1]["content"]
        script = last.split(SPECIAL[0])[1].split(SPECIAL[1])[0]
        assert prompts.count(script) + 1 == each.output_tokens, "the end token counts"


@pytest.mark.parametrize("name", names())
def test_lengths_and_kinds_depend_on_the_number_alone(prompts: Prompts, name: str) -> None:
    one, two, again = (asked(prompts, name, 40, seed=seed) for seed in (1, 2, 1))
    assert one == again
    assert [(each.kind, each.prompt_tokens, each.streamed) for each in one] == [
        (each.kind, each.prompt_tokens, each.streamed) for each in two
    ]
    assert not {str(each.body) for each in one} & {str(each.body) for each in two}


def test_every_request_is_another_one(prompts: Prompts) -> None:
    assert len({str(each.body) for each in asked(prompts, "mixed", 400)}) == 400


def test_a_turn_begins_with_the_one_before(prompts: Prompts) -> None:
    requests = asked(prompts, "multi-turn", 16)
    for first, second in zip(requests, requests[4:], strict=False):
        history, more = first.body["messages"], second.body["messages"]
        assert more[: len(history)] == history
    assert len({each.body["messages"][0]["content"] for each in requests}) == 1, "one system prompt for all"


def test_shares_of_the_mix(prompts: Prompts) -> None:
    kinds = [each.kind for each in asked(prompts, "mixed", 100)]
    counts = {kind: kinds.count(kind) for kind in kinds}
    assert counts == {"short chat": 40, "long prompt": 10, "multi-turn": 20, "tool loop": 10, "reasoning": 20}


def test_shares_of_streams(prompts: Prompts) -> None:
    assert sum(each.streamed for each in asked(prompts, "short-chat", 100)) == 75


def test_a_checkpoint_without_scripts_is_held_to_its_output_length(prompts: Prompts) -> None:
    for each in asked(prompts, "tool-loop", 8, scripted=False):
        assert each.body["ignore_eos"] is True
        assert each.body["max_tokens"] == each.output_tokens
        assert SPECIAL[0] not in str(each.body)


def test_a_workload_that_is_not_there(prompts: Prompts) -> None:
    with pytest.raises(WorkloadError, match=r"no workload 'nothing'; there are .*mixed"):
        prompts.fits("nothing", scripted=True)


def test_fits_travel_as_plain_values(prompts: Prompts) -> None:
    fits = prompts.fits("mixed", scripted=True)
    assert all(isinstance(each, Fit) and isinstance(each.user, int) for each in fits.values())
