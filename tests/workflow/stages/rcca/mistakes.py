"""Mistaken settings of stage rcca: key, value, and words of the sentence that refuses them."""

MISTAKES = [
    ("rcca.digits.features", [20, 10], "must increase"),
    ("rcca.digits.features", [2, 20], "m = 2 is less than components = 3"),
    ("rcca.speech.features", [20, 4000], "m = 4000 landmarks are more than the 3000 training rows"),
    ("rcca.digits.dataset", "patches", "'patches' has no x and no y"),
    ("rcca.digits.split.train", 2000, "split: 2397 rows are more than the 1797 of 'digits'"),
    ("rcca.digits.split.scheme", "groups", "'digits' has no groups to split by"),
    ("rcca.digits.split.tune", 0, "split.tune: at least 2 rows are needed"),
    ("rcca.digits.cv.regs", [0.1], "cv.regs: reg = 0.001 must be one of them"),
    ("rcca.digits.cv.features", [15], "cv.features: [15] must be some of [10, 20]"),
    ("rcca.digits.other_regs", [0.1, 0.1], "other_regs: [0.1, 0.1] repeats a value"),
    ("rcca.digits.other_regs", [0.001], "repeats a value or reg = 0.001"),
    ("rcca.speech.split.scheme", "given", "series: the split must be one of random, groups"),
    ("rcca.digits.maps", ["fourier", "fourier"], "must not repeat a value"),
    ("rcca.digits.maps", ["sine"], "'linear', 'fourier' or 'nystroem'"),
    ("rcca.digits-wide.variant_of", "speec", "'speec' is no other experiment"),
    ("rcca.digits.dcca.hiden", [3], "unknown key; did you mean 'hidden'?"),
    ("rcca.digits.dcca.batch_size", 4, "dcca.batch_size: must exceed components = 3 by two"),
    ("rcca.digits.kcca.sizes", [200, 100], "must increase"),
    ("rcca.digits.kcca.sizes", [2, 100], "kcca.sizes: must be larger than components = 3"),
]
