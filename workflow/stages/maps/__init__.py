"""Feature maps compared."""
