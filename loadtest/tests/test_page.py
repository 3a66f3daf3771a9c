"""The page of a load run: what it says, and that a browser shows it on any width and on paper."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote, urlsplit

import pytest
from page import write
from run_folder import write_run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

pytest_plugins = ["report.tests.browser"]

BOTH = ("frontend", "reference")
LADDER = (1, 2, 4, 8, 16, 32)
BEFORE = "../before/run.json"
PHONE, DESK = 390, 1280
PAPER = 720  # A4 less its margins
HELD = {"limit": "error rate", "allowed": "at most 1 %", "measured": "0.24 %", "ok": True}
BROKEN = {"limit": "TTFT p95", "allowed": "at most 200 ms", "measured": "512 ms", "ok": False}
UNCHECKED = {"limit": "last run", "allowed": "at least 0.9", "measured": "no run was accepted", "ok": None}
LONG = {"limit": "x" * 300, "allowed": "y" * 300, "measured": "z" * 300, "ok": True}
BODY = '{"error": {"message": "<b>&amp;' + "x" * 300 + '"}}'
FAILURES = [
    {"server": "frontend", "status": 500, "failure": "error event", "count": 7, "body": BODY},
    {"server": "reference", "status": None, "failure": "timeout", "count": 2100, "body": None},
]

# Every shape that a run can have.
RUNS: dict[str, dict[str, Any]] = {
    "a ladder": {
        "servers": BOTH,
        "loads": LADDER,
        "budgets": [HELD, BROKEN, UNCHECKED, LONG],
        "failures": FAILURES,
        "model": "m" * 300,
    },
    "one load": {"servers": BOTH, "loads": (32,)},
    "one server": {"servers": ("reference",), "loads": (2, 4)},
    "requests per second": {"servers": BOTH, "loads": (0.5, 2.5), "loop": "poisson"},
    "servers elsewhere": {
        "servers": BOTH,
        "loads": (8,),
        "containers": [],
        "containers_missing": "no Docker",
        "generator": [],
    },
    "nothing answered": {"servers": BOTH, "loads": (8, 16), "failures": FAILURES},
    "no step": {"servers": BOTH, "loads": (1,), "steps": [], "containers": [], "generator": []},
}


def run_of(folder: Path, shape: str) -> Path:
    """Writes a run of a shape, and the page of it."""
    path = write_run(folder, **RUNS[shape])
    if shape == "nothing answered":
        fail_all(path)
    return write(folder)


def fail_all(path: Path) -> None:
    """Makes of a run one in which each request failed."""
    run = json.loads(path.read_text(encoding="utf-8"))
    for step in run["steps"]:
        nothing = {key: None for key in step if re.search(r"_p\d\d$", key)}
        none_per_s = {key: 0 for key in step if "tokens_per_s" in key}
        step.update(nothing, **none_per_s, failures=step["requests"], knee=False)
    path.write_text(json.dumps(run), encoding="utf-8")
    requests = path.with_name("requests.jsonl")
    lines = [json.loads(line) for line in requests.read_text(encoding="utf-8").splitlines()]
    failed = [{**line, "failure": "timeout", "status": None, "ttft": None, "itl": []} for line in lines]
    requests.write_text("".join(f"{json.dumps(line)}\n" for line in failed), encoding="utf-8")


def text_of(page: Path) -> str:
    """The words of a page, without its style."""
    html = page.read_text(encoding="utf-8").partition("<body>")[2]
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


@pytest.fixture(scope="module")
def shown(browser: Browser, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The page of the shape that the test is parametrized with; at the end, that it was fine for the browser.

    Tests share it, and each lays it out anew.
    """
    url = run_of(tmp_path_factory.mktemp("run"), request.param).as_uri()
    with browser.new_page() as page:
        errors: list[str] = []
        requests: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text))
        page.on("request", lambda sent: requests.append(sent.url))
        page.goto(url)
        yield page
        assert errors == []
        assert requests == [url], "the page needs nothing but itself"


def lay_out(page: Page, width: int, media: Literal["screen", "print"] = "screen") -> None:
    page.emulate_media(media=media)
    page.set_viewport_size({"width": width, "height": 844})


every_shape = pytest.mark.parametrize("shown", RUNS, indirect=True, scope="module")
a_ladder = pytest.mark.parametrize("shown", ["a ladder"], indirect=True, scope="module")


@every_shape
def test_every_plot_is_seen(shown: Page) -> None:
    lay_out(shown, DESK)
    empty = """[...document.querySelectorAll("svg")].filter(svg => {
        const box = svg.getBoundingClientRect();
        return !(box.width > 0 && box.height > 0);
    }).length"""
    misdrawn = """[...document.querySelectorAll("svg *")].flatMap(each =>
        [...each.attributes].map(attribute => attribute.value)).filter(value => /nan|inf|none/i.test(value))"""
    assert (shown.evaluate(empty), shown.evaluate(misdrawn)) == (0, [])


@pytest.mark.parametrize(
    ("shape", "plots"),
    [
        ("a ladder", 3 + 3 * 5 + 2 * len(LADDER) + 2 + 2),
        ("one load", 3 + 3 * 5 + 2 + 2 + 2),
        ("servers elsewhere", 3 + 3 * 5 + 2),
        ("nothing answered", 3 + 2 + 2),
        ("no step", 0),
    ],
)
def test_a_run_has_its_plots(tmp_path: Path, shape: str, plots: int) -> None:
    """Throughput, the percentiles of five latencies, two distributions at each load; containers; the generator."""
    assert run_of(tmp_path, shape).read_text(encoding="utf-8").count("<figure>") == plots


@every_shape
@pytest.mark.parametrize("width", [PHONE, DESK])
def test_the_page_is_as_wide_as_the_screen(shown: Page, width: int) -> None:
    lay_out(shown, width)
    assert shown.evaluate("document.documentElement.scrollWidth") == width


@every_shape
def test_the_page_is_as_wide_as_paper(shown: Page) -> None:
    lay_out(shown, PAPER, "print")
    assert shown.evaluate("document.documentElement.scrollWidth") == PAPER
    assert shown.pdf(format="A4").startswith(b"%PDF")


@a_ladder
def test_on_a_phone_a_measure_stands_beside_its_figures(shown: Page) -> None:
    lay_out(shown, PHONE)
    tops = shown.evaluate(
        """[...document.querySelectorAll(".steps tbody:first-of-type tr:not(.load)")].map(row =>
            row.lastElementChild.getBoundingClientRect().top)"""
    )
    assert len(tops) == 4
    assert len(set(tops)) == 1, tops


@a_ladder
def test_every_link_leads_somewhere(shown: Page) -> None:
    assert (
        shown.eval_on_selector_all("nav a", "links => links.filter(link => !document.querySelector(link.hash))") == []
    )
    links = shown.eval_on_selector_all("td a", "links => links.map(link => [link.textContent, link.href])")
    files = {name: Path(unquote(urlsplit(href).path)) for name, href in links}
    assert list(files) == ["requests.jsonl", "requests.csv", "run.json"]
    assert [name for name, path in files.items() if not path.is_file()] == []


@a_ladder
def test_a_failing_body_is_shown_as_it_is(shown: Page) -> None:
    assert shown.inner_text("pre") == BODY


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"budgets": [HELD, HELD]}, "Fine All 2 limits held."),
        ({"budgets": [HELD]}, "Fine The limit held."),
        ({"budgets": [HELD, UNCHECKED]}, "Fine 1 of 2 limits held; the others could not be checked."),
        ({"budgets": []}, "Fine No limit was set."),
        ({"budgets": [HELD, BROKEN]}, "A limit broke TTFT p95: allowed at most 200 ms, measured 512 ms"),
        ({"budgets": [BROKEN, BROKEN]}, "2 limits broke TTFT p95: allowed at most 200 ms, measured 512 ms"),
        (
            {"budgets": [BROKEN], "valid": False, "invalid_because": ["the generator used 98 % of a core"]},
            "Invalid: these figures say nothing of the servers the generator used 98 % of a core",
        ),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_the_verdict_comes_first(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    write_run(tmp_path, servers=BOTH, loads=(8,), **changed)
    words = text_of(write(tmp_path))
    assert words[: len(said)] == said


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ("nothing answered", "No request was answered Load on frontend and reference"),
        ("no step", "No request was answered Load on no server"),
    ],
)
def test_a_run_without_an_answer_is_not_fine(tmp_path: Path, shape: str, said: str) -> None:
    words = text_of(run_of(tmp_path, shape))
    assert words[: len(said)] == said


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ("one load", "No request failed."),
        ("one load", "There is no earlier run to compare with."),
        ("servers elsewhere", "Containers Not measured: no Docker."),
        ("servers elsewhere", "The load generator was not measured."),
        ("nothing answered", "Distribution of latencies No request was answered."),
        ("no step", "No step was run."),
        ("a ladder", "16 users, the knee of frontend and reference"),
        ("requests per second", "No knee of frontend and reference up to 2.5"),
        ("a ladder", "Failures by kind 2,100 × reference, no response: timeout 7 × frontend, 500: error event"),
        ("a ladder", "not checked last run no run was accepted"),
        ("requests per second", "open loop: requests arrive at random, a Poisson process"),
    ],
)
def test_what_is_said(tmp_path: Path, shape: str, said: str) -> None:
    assert said in text_of(run_of(tmp_path, shape))


def test_turns_at_one_load_are_joined_by_their_median(tmp_path: Path) -> None:
    path = write_run(tmp_path, servers=BOTH, loads=(8,))
    run = json.loads(path.read_text(encoding="utf-8"))
    turns = [
        {**step, "step": 2 * turn + index, "ttft_p50": value, "requests": 10, "failures": turn, "knee": False}
        for turn, value in enumerate((100, 400, 110))
        for index, step in enumerate(run["steps"])
    ]
    path.write_text(json.dumps({**run, "steps": turns}), encoding="utf-8")
    row = re.search(r"8 users requests .*?\[ms\] frontend ([\d., ]+)", text_of(write(tmp_path)))
    assert row is not None
    requests, failed, _, _, ttft_p50, *_ = row[1].split()
    assert (requests, failed, ttft_p50) == ("30", "3", "110")


def test_the_run_before_is_drawn_in_grey(tmp_path: Path) -> None:
    write_run(tmp_path / "before", servers=BOTH, loads=LADDER)
    write_run(tmp_path / "now", servers=BOTH, loads=LADDER, previous=BEFORE)
    page = write(tmp_path / "now").read_text(encoding="utf-8")
    assert '<g class="frontend before">' in page
    assert "frontend ÷ before" in page


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"workload": "long prompt"}, "it is of another kind: workload long prompt."),
        ({"loop": "constant"}, "it is of another kind: loop constant."),
        ({"model": "another"}, "it is of another kind: model another."),
    ],
    ids=["workload", "loop", "model"],
)
def test_a_run_of_another_kind_is_not_compared_with(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    write_run(tmp_path / "before", servers=BOTH, loads=LADDER, **changed)
    write_run(tmp_path / "now", servers=BOTH, loads=LADDER, previous=BEFORE)
    words = text_of(write(tmp_path / "now"))
    assert said in words
    assert "before" not in words.replace("Run before", "").partition("How it was measured")[0]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "../before/run.json is not there."),
        ('{"steps": [', "../before/run.json cannot be read."),
        ("[]", "../before/run.json cannot be read."),
        ('{"steps": [{"server": "frontend", "load": 8}]}', "../before/run.json cannot be read."),
    ],
    ids=["gone", "cut short", "no run", "of an older format"],
)
def test_a_run_before_that_cannot_be_shown_is_said(tmp_path: Path, content: str | None, said: str) -> None:
    write_run(tmp_path / "now", servers=BOTH, loads=(8,), previous=BEFORE)
    if content is not None:
        (tmp_path / "before").mkdir()
        (tmp_path / "before" / "run.json").write_text(content, encoding="utf-8")
    assert f"The earlier run is not shown: {said}" in text_of(write(tmp_path / "now"))
