"""Values on a command line."""

from __future__ import annotations

import argparse
import json
from typing import Any


def json_object(text: str) -> dict[str, Any]:
    """An ``argparse`` type: a JSON object.

    Raises:
        argparse.ArgumentTypeError: the text is not JSON, or is JSON of another type.
    """
    try:
        parsed = json.loads(text)
    except json.JSONDecodeError as error:
        raise argparse.ArgumentTypeError(f"not JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise argparse.ArgumentTypeError(f"not a JSON object: {text}")
    return parsed
