"""One file per model."""
