"""Data sets: embedded and fetched, prepared to one memory-mappable form."""
