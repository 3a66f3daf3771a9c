"""The soak as a specification: what counts as growth, what counts as wrong, what is shown."""
