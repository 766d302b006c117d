"""Mistaken settings of stage rpca: key in config/test.yaml, its value (... for none), the words."""

PCA = "rpca.digits.pca"
TIMES = {"exact": [50], "random": [100], "features": 20}

MISTAKES = [
    ("rpca.digits.dataset", "minst", "rpca.digits.dataset: unknown dataset 'minst'; known are"),
    ("rpca.digits.dataset", "synthetic-speech", "has no labels, which pca needs"),
    ("rpca.digits.dataset", "patches", "'patches' has no x and no y, which cca needs"),
    ("rpca.digits", {"dataset": "digits", "title": "digits"}, "pca: give pca, cca or both"),
    ("rpca.digits.published", True, "rpca.digits.published: unknown key"),
    (f"{PCA}.features", [20, 10], f"{PCA}.features: [20, 10] must increase"),
    (f"{PCA}.features", [2, 10], f"{PCA}.features: m = 2 is less than components = 3"),
    (f"{PCA}.features", [200], f"{PCA}.features: m = 200 landmarks are more than rows = 100"),
    (f"{PCA}.features", ..., f"{PCA}.features: required, but not given"),
    (f"{PCA}.rows", 1, f"{PCA}.rows: 1 must be greater than or equal to 2"),
    (f"{PCA}.rows", 3, f"{PCA}.rows: 3 must exceed components = 3"),
    (f"{PCA}.rows", 1798, f"{PCA}.rows: 1798 are more than the 1797 of 'digits'"),
    ("rpca.digits.cca.rows", 1797, "1797 are all of 'digits'; leave some to test on"),
    ("rpca.digits.cca.reg", 0, "rpca.digits.cca.reg: 0 must be greater than 0"),
    (f"{PCA}.reg", 1.0, f"{PCA}.reg: unknown key"),
    (f"{PCA}.gamma", "mean", f"{PCA}.gamma: 'mean' must be 'median' or must be a finite number"),
    (f"{PCA}.times", TIMES | {"exact": [3]}, "times.exact: n = 3 must exceed components = 3"),
    (f"{PCA}.times", TIMES | {"leading": [2000]}, "n = 2000 rows are more than the 1797"),
    (f"{PCA}.times", TIMES | {"features": 101}, "n = 100 rows are fewer than the 101 landmarks"),
    (f"{PCA}.times", TIMES | {"features": 2}, "times.features: m = 2 is less than components = 3"),
    (f"{PCA}.times", {"exact": [50]}, f"{PCA}.times.random: required, but not given"),
]
