"""The experiments of the paper, one module per stage: prepared data in, tidy frames out."""
