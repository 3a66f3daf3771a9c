"""DeepSeek-V4."""

from sglang_parity.models.deepseek_v4.grammar import DsmlGrammar
from sglang_parity.models.deepseek_v4.output import DsmlToolCalls, ReasoningBlock
from sglang_parity.models.deepseek_v4.prompt import DeepseekV4
from sglang_parity.models.family import Family

FAMILY = Family(
    encoding="dsv4",
    load_encoder=DeepseekV4.for_checkpoint,
    reasoning_parser="deepseek-v4",
    reasoning=ReasoningBlock(),
    tool_call_parser="deepseekv4",
    tool_calls=DsmlToolCalls(),
    tool_call_grammar=DsmlGrammar,
)
