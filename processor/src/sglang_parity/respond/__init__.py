"""From engine items to the chunks that Dynamo's front streams, or folds into one body."""

from sglang_parity.respond.answer import Reading, StreamedAnswer, WholeAnswer
from sglang_parity.respond.chunks import Chunks

__all__ = ["Chunks", "Reading", "StreamedAnswer", "WholeAnswer"]
