"""Seeds of a run, one per purpose."""

import hashlib

import numpy as np


def derived_seed(seed: int, *purpose: str | int) -> int:
    """Seed for one purpose of a run, e.g. ``derived_seed(2014, "rcca", "mnist", repeat)``.

    Depends on the names alone, so that adding a stage or an experiment changes no other.
    """
    words = [seed, *(_word(part) for part in purpose)]
    return int(np.random.SeedSequence(words).generate_state(1, np.uint32)[0])


def _word(part: str | int) -> int:
    if isinstance(part, int):
        return part
    return int.from_bytes(hashlib.sha256(part.encode()).digest()[:8], "little")
