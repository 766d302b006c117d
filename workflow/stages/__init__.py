"""One folder per stage."""
