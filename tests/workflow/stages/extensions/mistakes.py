"""Mistaken settings of stage extensions: key, value, and words of the refusal."""

MISTAKES = [
    ("extensions.clustering.dataset", "minst", "clustering.dataset: unknown dataset 'minst'"),
    ("extensions.clustering.dataset", "rings", "'rings' has no images"),
    ("extensions.clustering.rows", 1798, "rows: 1798 is more than the 1797 of 'digits'"),
    ("extensions.clustering.published", True, "extensions.clustering.published: unknown key"),
    ("extensions.shapes.features", [20, 10], "shapes.features: [20, 10] must increase"),
    ("extensions.shapes.width", 0, "extensions.shapes.width: 0 "),
    (
        "extensions.discriminants.split",
        {"scheme": "official", "tune": 5},
        "discriminants.split.scheme: 'digits' has no given_split to split by",
    ),
    (
        "extensions.discriminants.split",
        {"scheme": "random", "tune": 5, "test": 5},
        "discriminants.split.train: required for scheme 'random'",
    ),
    ("extensions.discriminants.split.scheme", "groups", "'random' or 'official'"),
    ("extensions.discriminants.split.train", 1800, "are more than the 1797 of 'digits'"),
    ("extensions.discriminants.svm_grid", [0.1, 0.1], "must not repeat a value"),
    ("extensions.dependence.rows", 1, "extensions.dependence.rows: 1 "),
    ("extensions.dependence.repeats", 1, "extensions.dependence.repeats: 1 "),
    ("extensions.dependense", {"noise": [1.0]}, "did you mean 'dependence'?"),
]
