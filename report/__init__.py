"""The release report: what the checks left in `results/`, put together into one verdict, and what it rests on."""
