"""What every check stands on: the stack and its servers, answers, traffic, evidence. It imports no check."""
