"""The marks in DeepSeek-V4's text."""

BOS = "<｜begin▁of▁sentence｜>"
EOS = "<｜end▁of▁sentence｜>"
USER = "<｜User｜>"
ASSISTANT = "<｜Assistant｜>"
LATEST_REMINDER = "<｜latest_reminder｜>"

THINK = "<think>"
END_THINK = "</think>"

# Tool calls: a block of invokes, each of parameters. Every tag of theirs holds the same piece.
BAR = "｜"
DSML = f"{BAR}DSML{BAR}"
BLOCK = f"<{DSML}tool_calls>"
END_BLOCK = f"</{DSML}tool_calls>"
INVOKE = f"<{DSML}invoke"  # its name and ">" follow
END_INVOKE = f"</{DSML}invoke>"
PARAMETER = f"<{DSML}parameter"  # its name, whether it is a string, and ">" follow
END_PARAMETER = f"</{DSML}parameter>"
# What stands between prose and a block.
GAP = "\n\n"
