"""How the pages of this repository are made from their templates."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

_SHARED = Path(__file__).parent  # holds the style that all pages have in common


def templates_in(folder: Path) -> Environment:
    """The templates of a folder, which can include ``style.css``.

    What they are given is escaped, and what they name but are not given is an error.
    """
    return Environment(
        loader=FileSystemLoader((folder, _SHARED)),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
