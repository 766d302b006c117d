"""Mistaken settings of stage maps: key, value, and words of the refusal."""

MISTAKES = [
    ("maps.digits.dataset", "minst", "maps.digits.dataset: unknown dataset 'minst'"),
    ("maps.digits.dataset", "patches", "maps.digits.dataset: 'patches' has no x and no y"),
    ("maps.digits.features", [20, 10], "maps.digits.features: [20, 10] must increase"),
    ("maps.digits.features", [2], "maps.digits.features: m = 2 is less than components = 3"),
    ("maps.digits.features", [301], "m = 301 is more than train = 300, from which the Nyström"),
    ("maps.digits.kernel_rows", 101, "maps.digits.kernel_rows: 101 is more than test = 100"),
    ("maps.digits.train", 1698, "train + test = 1798 rows are more than the 1797 of 'digits'"),
    ("maps.digits.dimensions", [], "maps.digits.dimensions: []"),
    ("maps.digits.timed_row", 1, "unknown key; did you mean 'timed_rows'?"),
    ("maps.digits.reg", -1.0, "maps.digits.reg: -1.0"),
]
