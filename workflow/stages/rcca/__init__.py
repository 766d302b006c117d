"""Table 1: RCCA beside linear, deep and kernel CCA."""
