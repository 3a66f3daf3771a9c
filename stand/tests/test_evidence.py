"""What a check writes is what the report reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stand.evidence import FILE, Check, Evidence, Figure, Part, State, Table, read_evidence, write_evidence

if TYPE_CHECKING:
    from pathlib import Path


def test_evidence_reads_back_as_written(tmp_path: Path) -> None:
    part = Part(
        "Hostile requests",
        ("hostile/requests.json",),
        (Check("no violations", State.FAILED, "a traceback: \u2028"), Check("10000 requests", State.NOT_RUN, "only 3")),
        (Figure("seed", "7"),),
        (Table("What was sent", ("kind", "refused"), (("bytes", "3"),), "a note"),),
        listed=True,
    )
    written = Evidence("0123abcd", (part, Part("Empty")), {"SGLang": "0.5.21"})
    write_evidence(tmp_path / "hostile", written)
    assert read_evidence(tmp_path / "hostile" / FILE) == written
