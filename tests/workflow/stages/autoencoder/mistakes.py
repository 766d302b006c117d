"""Mistaken settings of stage autoencoder: key, value, and words of the sentence that refuses."""

MISTAKES = [
    ("autoencoder.digits.dataset", "minst", "autoencoder.digits.dataset: unknown dataset 'minst'"),
    ("autoencoder.digits.dataset", "synthetic-speech", "'synthetic-speech' has no images"),
    ("autoencoder.digits.components", 40, "components: d = 40 must be less than features = 40"),
    ("autoencoder.digits.sweeps.d", [3, 2], "autoencoder.digits.sweeps.d: [3, 2] must increase"),
    ("autoencoder.digits.sweeps.d", [2, 40], "sweeps.d: d = 40 must be less than features = 40"),
    ("autoencoder.digits.sweeps.d", [2, 65], "d = 65 is more than the 64 pixels of a picture"),
    ("autoencoder.digits.sweeps.m", [3, 20], "sweeps.m: m = 3 must be more than components = 3"),
    ("autoencoder.digits.sweeps.n", [5], "autoencoder.digits.sweeps.n: unknown key"),
    ("autoencoder.digits.search.share", 0.0, "must be greater than 0"),
    ("autoencoder.digits.search.share", 1.5, "must be less than or equal to 1"),
    ("autoencoder.digits.search.regs", [0.0], "search.regs.0: 0.0 must be greater than 0"),
    ("autoencoder.digits.jobs", "few", "'one' or 'many'"),
    ("autoencoder.digits.white", 0, "must be greater than 0"),
    ("autoencoder.digits.components", 3.0, "must be an integer"),
]
