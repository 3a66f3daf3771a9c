"""Places in JSON, and text that is put there as it is, JSON or not."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Place = tuple[str | int, ...]

_MARK = "\ue000place\ue000"  # of a private use area: in no request


def places(value: Any, holds: Callable[[Any], bool] = lambda _: True, place: Place = ()) -> Iterator[Place]:
    """Every place in a value, the whole included, at which ``holds`` is true."""
    if holds(value):
        yield place
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in children:
        yield from places(item, holds, (*place, key))


def at(value: Any, place: Place) -> Any:
    for key in place:
        value = value[key]
    return value


def put(value: Any, place: Place, new: Any) -> Any:
    """A copy of the value with something else at one place."""
    if not place:
        return new
    changed = copy.deepcopy(value)
    at(changed, place[:-1])[place[-1]] = new
    return changed


def put_text(value: Any, place: Place, text: str) -> str:
    """The value's JSON with ``text`` in place of the JSON of one place."""
    return written(put(value, place, _MARK)).replace(f'"{_MARK}"', text)


def written(value: Any) -> str:
    """A value's JSON, in which nothing is escaped that need not be."""
    return json.dumps(value, ensure_ascii=False)
