"""What an earlier soak found is gone when one begins; what was found is written however it ends, and is no pass."""

from __future__ import annotations

import json
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from soak import __main__ as command
from stand.stack import StackError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class StubTraffic:
    """Clients that send nothing."""

    def __init__(self, *_: object) -> None:
        self.done: list[object] = []

    def __enter__(self) -> StubTraffic:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The results of an earlier soak, and a stack without clients."""

    @contextmanager
    def open_stack() -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(project=object(), frontend=SimpleNamespace(model="stand-in"))

    results = tmp_path / "results"
    results.mkdir()
    (results / "results.json").write_text("an earlier soak", encoding="utf-8")
    for name, value in {"ROOT": tmp_path, "RESULTS": results, "open_stack": open_stack, "Traffic": StubTraffic}.items():
        monkeypatch.setattr(command, name, value)
    monkeypatch.setattr("sys.argv", ["soak"])
    return results


@pytest.mark.parametrize(
    ("error", "raised"),
    [(KeyboardInterrupt(), SystemExit), (RuntimeError("a bug"), RuntimeError)],
    ids=["interrupted", "broken"],
)
def test_what_was_found_is_written(
    results: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, raised: type[BaseException]
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(command, "sample", fail)
    with pytest.raises(raised) as ended:
        command.main()
    assert getattr(ended.value, "code", 1) == 1
    checks = json.loads((results / "results.json").read_text(encoding="utf-8"))["checks"]
    assert checks[0] == {
        "name": "it ran to its end",
        "ok": False,
        "said": "it ended after 0.0 of 30 minutes",
    }


def test_without_a_stack_nothing_is_left_of_an_earlier_soak(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def open_stack() -> None:
        raise StackError("Docker does not answer")

    monkeypatch.setattr(command, "open_stack", open_stack)
    with pytest.raises(SystemExit, match="nothing was run: Docker does not answer"):
        command.main()
    assert not results.exists()
