"""Tool ``parameters``: type names that databases use are rewritten, then the schema is checked.

Mirrors ``function_call/utils.py::normalize_json_schema_types`` and the tool check in ``serving_chat.py``.
"""

from __future__ import annotations

import hashlib

import orjson
from jsonschema import Draft202012Validator, SchemaError

from sglang_parity.request.plain_schema import TYPES, is_plain

_ALIASES = {
    **dict.fromkeys(("str", "text", "varchar", "char", "enum", "uuid"), "string"),
    **dict.fromkeys(("date", "datetime", "time", "timestamp"), "string"),
    **dict.fromkeys(("binary", "blob", "bytea", "bytes", "varbinary"), "string"),
    **dict.fromkeys(("bigint", "smallint", "tinyint"), "integer"),
    **dict.fromkeys(("double", "decimal", "real", "numeric"), "number"),
    **dict.fromkeys(("arr", "tuple", "set"), "array"),
    "bool": "boolean",
    "map": "object",
}
# A prefix counts where nothing or one of these follows it: "int32" and "list[str]" match, "internal" does not.
_PREFIX_BOUNDARY = frozenset("0123456789[<( \t")
_PREFIXES = (
    *((prefix, "integer") for prefix in ("int", "uint", "long", "short", "unsigned")),
    *((prefix, "number") for prefix in ("num", "float")),
    ("list", "array"),
    ("dict", "object"),
)

_MAPS_OF_SCHEMAS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS_OF_SCHEMAS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SCHEMAS = (
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
)

# Digests of schemas found valid: a check costs milliseconds and clients repeat their tools on every turn.
_valid: set[bytes] = set()
_MAX_REMEMBERED = 4096


def schema_error(parameters: object) -> str | None:
    """Rewrites type names in place, then says what is wrong with the schema, None where nothing is.

    Raises:
        RecursionError: the schema is nested too deeply to be walked.
    """
    normalize_types(parameters)
    try:
        digest = hashlib.blake2b(orjson.dumps(parameters), digest_size=16).digest()
    except orjson.JSONEncodeError:  # nested too deeply, or text that is not UTF-8
        digest = None
    if digest in _valid:
        return None
    if not is_plain(parameters):
        try:
            Draft202012Validator.check_schema(parameters)  # type: ignore[arg-type]  # whether it is one is the question
        except SchemaError as error:
            return str(error)
    if digest is not None:
        if len(_valid) >= _MAX_REMEMBERED:
            _valid.clear()
        _valid.add(digest)
    return None


def normalize_types(schema: object) -> None:
    """Replaces type names such as ``varchar(10)`` by JSON Schema's, in place; the prompt then shows those.

    Raises:
        RecursionError: the schema is nested too deeply to be walked.
    """
    if isinstance(schema, list):
        for item in schema:
            normalize_types(item)
        return
    if not isinstance(schema, dict):
        return

    declared = schema.get("type")
    if isinstance(declared, str):
        schema["type"] = _standard_type(declared)
    elif isinstance(declared, list):
        schema["type"] = _distinct([_standard_type(item) if isinstance(item, str) else item for item in declared])

    for key in _MAPS_OF_SCHEMAS:
        if isinstance(schema.get(key), dict):
            for nested in schema[key].values():
                normalize_types(nested)
    for key in _LISTS_OF_SCHEMAS:
        if isinstance(schema.get(key), list):
            normalize_types(schema[key])
    for key in _SCHEMAS:
        if key in schema:
            normalize_types(schema[key])


def _standard_type(name: str) -> str:
    if name in TYPES:
        return name
    base = name.split("(", 1)[0].strip().lower()
    if base in TYPES:
        return base
    if base in _ALIASES:
        return _ALIASES[base]
    for prefix, standard in _PREFIXES:
        if base.startswith(prefix) and (base == prefix or base[len(prefix)] in _PREFIX_BOUNDARY):
            return standard
    return name


def _distinct(items: list[object]) -> list[object]:
    """Without repeats, in order. By equality: entries need not be hashable."""
    kept: list[object] = []
    for item in items:
        if item not in kept:
            kept.append(item)
    return kept
