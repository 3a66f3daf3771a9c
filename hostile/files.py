"""A hostile request as a file: headers, a blank line, and the body as it is."""

from __future__ import annotations

from email.parser import BytesHeaderParser
from typing import TYPE_CHECKING

from .bodies import HostileRequest, Kind

if TYPE_CHECKING:
    from pathlib import Path


def save(request: HostileRequest, folder: Path) -> Path:
    """Writes the request; the file is named for its number."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{request.number}.http"
    head = f"number: {request.number}\nkind: {request.kind}\ncontent-type: {request.content_type}\n\n"
    path.write_bytes(head.encode() + request.content)
    return path


def load(path: Path) -> HostileRequest:
    """Reads what ``save`` has written."""
    head, _, content = path.read_bytes().partition(b"\n\n")
    headers = BytesHeaderParser().parsebytes(head)
    return HostileRequest(int(headers["number"]), Kind(headers["kind"]), headers["content-type"] or "", content)
