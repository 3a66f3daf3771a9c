"""What clients get while the stack breaks: traffic, one fault after another, and a table of what was answered."""
