"""``response_format: {"type": "structural_tag", ...}``: the shapes SGLang accepts.

The older shape is SGLang's own (``protocol.py::LegacyStructuralTagResponseFormat``); the newer one is xgrammar 0.2.7's
``StructuralTag``. Both are forwarded to the engine as their dump by alias, so fields and defaults must be complete.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

_MaxCount = Annotated[int | None, Field(ge=0, le=2_147_483_647)]
_TokenRef = int | str


class StructuresResponseFormat(BaseModel):
    begin: str
    schema_: dict[str, object] | None = Field(alias="schema", default=None)
    end: str


class LegacyStructuralTagResponseFormat(BaseModel):
    type: Literal["structural_tag"]
    structures: list[StructuresResponseFormat]
    triggers: list[str]
    at_least_one: bool = False


class ConstStringFormat(BaseModel):
    type: Literal["const_string"] = "const_string"
    value: str


class JSONSchemaFormat(BaseModel):
    type: Literal["json_schema"] = "json_schema"
    json_schema: bool | dict[str, Any]
    style: Literal[
        "json",
        "qwen_xml",
        "minimax_xml",
        "minimax_m3_xml",
        "deepseek_xml",
        "glm_xml",
        "cohere_xml",
        "kimi_k3_xml",
        "deepseek_v4_1_xml",
    ] = "json"
    any_order: bool = False
    max_whitespace_cnt: int | None = None


class QwenXMLParameterFormat(BaseModel):
    type: Literal["qwen_xml_parameter"] = "qwen_xml_parameter"
    json_schema: bool | dict[str, Any]


class AnyTextFormat(BaseModel):
    type: Literal["any_text"] = "any_text"
    excludes: list[str] = []
    max_tokens: _MaxCount = None
    max_chars: _MaxCount = None


class TokenFormat(BaseModel):
    type: Literal["token"] = "token"
    token: _TokenRef


class ExcludeTokenFormat(BaseModel):
    type: Literal["exclude_token"] = "exclude_token"
    exclude_tokens: list[_TokenRef] = []


class AnyTokensFormat(BaseModel):
    type: Literal["any_tokens"] = "any_tokens"
    exclude_tokens: list[_TokenRef] = []
    max_tokens: _MaxCount = None


class GrammarFormat(BaseModel):
    type: Literal["grammar"] = "grammar"
    grammar: str


class RegexFormat(BaseModel):
    type: Literal["regex"] = "regex"
    pattern: str


class SequenceFormat(BaseModel):
    type: Literal["sequence"] = "sequence"
    elements: list[Format]


class OrFormat(BaseModel):
    type: Literal["or"] = "or"
    elements: list[Format]


class TagFormat(BaseModel):
    type: Literal["tag"] = "tag"
    begin: str | TokenFormat
    content: Format
    end: str | list[str] | TokenFormat


class TriggeredTagsFormat(BaseModel):
    type: Literal["triggered_tags"] = "triggered_tags"
    triggers: list[str]
    tags: list[TagFormat]
    at_least_one: bool = False
    stop_after_first: bool = False
    excludes: list[str] = []


class TokenTriggeredTagsFormat(BaseModel):
    type: Literal["token_triggered_tags"] = "token_triggered_tags"
    trigger_tokens: list[_TokenRef]
    tags: list[TagFormat]
    exclude_tokens: list[_TokenRef] = []
    at_least_one: bool = False
    stop_after_first: bool = False


class TagsWithSeparatorFormat(BaseModel):
    type: Literal["tags_with_separator"] = "tags_with_separator"
    tags: list[TagFormat]
    separator: str
    at_least_one: bool = False
    stop_after_first: bool = False


class OptionalFormat(BaseModel):
    type: Literal["optional"] = "optional"
    content: Format


class PlusFormat(BaseModel):
    type: Literal["plus"] = "plus"
    content: Format


class StarFormat(BaseModel):
    type: Literal["star"] = "star"
    content: Format


class RepeatFormat(BaseModel):
    type: Literal["repeat"] = "repeat"
    min: int
    max: int
    content: Format


class DispatchFormat(BaseModel):
    type: Literal["dispatch"] = "dispatch"
    rules: list[tuple[str, Format]]
    loop: bool = True
    excludes: list[str] = []


class TokenDispatchFormat(BaseModel):
    type: Literal["token_dispatch"] = "token_dispatch"
    rules: list[tuple[_TokenRef, Format]]
    loop: bool = True
    exclude_tokens: list[_TokenRef] = []


Format = Annotated[
    AnyTextFormat
    | ConstStringFormat
    | JSONSchemaFormat
    | GrammarFormat
    | RegexFormat
    | QwenXMLParameterFormat
    | OrFormat
    | SequenceFormat
    | TagFormat
    | TriggeredTagsFormat
    | TokenTriggeredTagsFormat
    | TagsWithSeparatorFormat
    | OptionalFormat
    | PlusFormat
    | StarFormat
    | TokenFormat
    | ExcludeTokenFormat
    | AnyTokensFormat
    | RepeatFormat
    | DispatchFormat
    | TokenDispatchFormat,
    Field(discriminator="type"),
]


class StructuralTag(BaseModel):
    type: Literal["structural_tag"] = "structural_tag"
    format: Format
