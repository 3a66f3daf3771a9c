"""No schema is plain that the whole check refuses; those that agents send are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, SchemaError
from sglang_parity.request.plain_schema import _KEYWORDS, is_plain

CITY = {"type": "string", "description": "A city", "enum": ["Oslo"], "default": None, "minLength": 1, "format": "uuid"}
NESTED: dict[str, Any] = {"type": "object", "properties": {"cities": {"type": "array", "items": CITY}}}


@pytest.mark.parametrize(
    "schema",
    [
        {},
        True,
        {"type": "object", "properties": {"city": CITY, "n": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}},
        {"type": "object", "properties": {"a": NESTED}, "required": ["a"], "additionalProperties": False},
        {"type": "number", "minimum": 0.5, "exclusiveMaximum": 7, "title": "n", "examples": [1]},
    ],
)
def test_common_schemas_are_plain(schema: Any) -> None:
    assert is_plain(schema)


@pytest.mark.parametrize(
    "schema",
    [
        None,
        [],
        {"type": "x"},
        {"type": ["string", "null"]},
        {"required": ["a", "a"]},
        {"required": "a"},
        {"minimum": True},
        {"minLength": -1},
        {"minLength": 1.0},
        {"anyOf": []},
        {"properties": {"a": 5}},
        {"pattern": "("},
        {"$ref": "#/$defs/a"},
        {"enum": {}},
    ],
)
def test_what_is_wrong_or_not_common_is_left_to_the_whole_check(schema: Any) -> None:
    assert not is_plain(schema)


def test_what_is_nested_deeply_is_left_to_the_whole_check() -> None:
    schema: dict[str, Any] = {}
    for _ in range(20):
        schema = {"items": schema}
    assert not is_plain(schema)


VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.sampled_from((0.5, 1.0, "string", "object", "a", "")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from((*_KEYWORDS, "not", "x")), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(VALUE)
def test_a_plain_schema_passes_the_whole_check(schema: Any) -> None:
    if is_plain(schema):
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as error:
            pytest.fail(f"{schema!r} is no schema: {error.message}")
