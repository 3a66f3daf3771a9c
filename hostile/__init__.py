"""Requests that no well-meaning client sends, and what the stack makes of them."""
