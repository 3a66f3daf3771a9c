"""Tool schemas that are valid at a glance, as nearly all are: the whole check takes a hundred times as long."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# Of JSON Schema.
TYPES = frozenset({"null", "boolean", "object", "array", "number", "string", "integer"})

# Deeper ones are left to the whole check, which gives up on some.
_MAX_DEPTH = 16


def is_plain(schema: object, depth: int = 0) -> bool:
    """Whether a schema is valid and made of the common keywords only, each used in the common way.

    False says nothing: Draft 2020-12's own meta-schema must then decide.
    """
    if type(schema) is bool:
        return True
    if type(schema) is not dict or depth > _MAX_DEPTH:
        return False
    return all(keyword in _KEYWORDS and _KEYWORDS[keyword](value, depth + 1) for keyword, value in schema.items())


def _any(_value: object, _depth: int) -> bool:
    return True


def _text(value: object, _depth: int) -> bool:
    return type(value) is str


def _flag(value: object, _depth: int) -> bool:
    return type(value) is bool


def _list(value: object, _depth: int) -> bool:
    return type(value) is list


def _number(value: object, _depth: int) -> bool:
    return type(value) in (int, float)


def _count(value: object, _depth: int) -> bool:
    return type(value) is int and value >= 0


def _type(value: object, _depth: int) -> bool:
    return type(value) is str and value in TYPES


def _names(value: object, _depth: int) -> bool:
    return type(value) is list and all(type(name) is str for name in value) and len(set(value)) == len(value)


def _schemas(value: object, depth: int) -> bool:
    return type(value) is list and bool(value) and all(is_plain(each, depth) for each in value)


def _map_of_schemas(value: object, depth: int) -> bool:
    return type(value) is dict and all(is_plain(each, depth) for each in value.values())


_KEYWORDS: dict[str, Callable[[object, int], bool]] = {
    **dict.fromkeys(("default", "const"), _any),
    **dict.fromkeys(("title", "description", "format"), _text),
    **dict.fromkeys(("deprecated", "readOnly", "writeOnly", "uniqueItems"), _flag),
    **dict.fromkeys(("enum", "examples"), _list),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _number),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _count),
    "type": _type,
    "required": _names,
    **dict.fromkeys(("items", "additionalProperties"), is_plain),
    **dict.fromkeys(("anyOf", "oneOf", "allOf"), _schemas),
    "properties": _map_of_schemas,
}
