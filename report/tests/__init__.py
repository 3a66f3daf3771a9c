"""The release report as a specification: what keeps it from a pass, what is written, what a validation does."""
