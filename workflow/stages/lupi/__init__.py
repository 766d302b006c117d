"""Learning with privileged information."""
