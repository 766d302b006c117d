"""Mistaken settings of stage lupi: key in config/test.yaml, its value (... for none), the words."""

OWN = "lupi.digits"
UNEVEN = {"title": "digits", "dataset": "digits-attributes", "classes": 2, "balanced": True}
UNEVEN |= {"train": 60, "test": 41, "features": [20], "regs": [0.1]}

MISTAKES = [
    (f"{OWN}.dataset", "mnist", f"{OWN}.dataset: 'mnist' has no attributes"),
    (f"{OWN}.dataset", "awas", f"{OWN}.dataset: unknown dataset 'awas'; known are"),
    (f"{OWN}.features", [20, 10], f"{OWN}.features: [20, 10] must increase"),
    (f"{OWN}.costs", [1.0, 1.0], f"{OWN}.costs: [1.0, 1.0] must increase"),
    (f"{OWN}.costs", [], f"{OWN}.costs: [] must have at least 1 item, not 0"),
    (f"{OWN}.regs", [0], f"{OWN}.regs.0: 0 must be greater than 0"),
    (f"{OWN}.regs", [1.0, 1.0], f"{OWN}.regs: [1.0, 1.0] must not repeat a value"),
    (f"{OWN}.methods", ["surf", "rca"], f"{OWN}.methods.1: 'rca' must be 'majority', 'surf', "),
    (f"{OWN}.methods", ["rcca", "lda"], f"{OWN}.methods: surf must be there to compare with"),
    (f"{OWN}.preprocessing", "raw", f"{OWN}.preprocessing: 'raw' must be a list"),
    (f"{OWN}.jobs", 3, f"{OWN}.jobs: 3 are more than partitions = 2"),
    (f"{OWN}.train", 1738, "train: train + test = 1798 rows are more than the 1797 of"),
    (f"{OWN}.grouping", "once", f"{OWN}.grouping: 'once' must be 'redrawn' or 'fixed'"),
    (f"{OWN}.folds", 1, f"{OWN}.folds: 1 must be greater than or equal to 2"),
    (f"{OWN}.classes", ..., f"{OWN}.classes: required, but not given"),
    (f"{OWN}.titel", "digits", f"{OWN}.titel: unknown key; did you mean 'title'?"),
    (OWN, UNEVEN, f"{OWN}.balanced: train and test must be even to be halved"),
]
