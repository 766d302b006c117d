"""Mistaken settings of stage bounds: key, value, and words of the sentence that refuses them."""

MISTAKES = [
    ("bounds.sweeps.tiny.n", [1, 20], "bounds.sweeps.tiny.n.0: 1 must be greater than or equal"),
    ("bounds.sweeps.tiny.m", [0], "bounds.sweeps.tiny.m.0: 0 must be greater than or equal to 1"),
    ("bounds.sweeps.tiny.m", [], "at least 1 item"),
    ("bounds.sweeps.tiny.m", [20, 20], "must not repeat a value"),
    ("bounds.sweeps.tiny.gamma", [0.0], "bounds.sweeps.tiny.gamma.0: 0.0 must be greater than 0"),
    ("bounds.sweeps.tiny.width", "wide", "'median', 'squared' or 'doubled'"),
    ("bounds.sweeps.tiny.width", -1.0, "must be greater than 0"),
    ("bounds.sweeps.tiny.fixed.k", 3, "bounds.sweeps.tiny.fixed.k: unknown key"),
    ("bounds.sweeps.tiny.repeats", 0, "must be greater than or equal to 1"),
    ("bounds.sweeps.tiny.blok", 3, "unknown key; did you mean 'block'?"),
    ("bounds.theorem4.widths", [1.0], "at least 2 items"),
    ("bounds.theorem4.n", [2, 3, 4, 5, 6], "at most 4 items"),
    ("bounds.theorem4.correlations.gamma", [1.0, 2.0, 3.0, 4.0, 5.0], "at most 4 items"),
    ("bounds.theorem4.ratio", [1.0], "unknown key; did you mean 'ratios'?"),
]
