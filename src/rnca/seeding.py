"""Independent random streams from one ``random_state``."""

from typing import Any

import numpy as np


def streams(random_state: Any, count: int) -> list[np.random.Generator]:
    """Spawn independent generators, one per purpose; the first do not depend on ``count``.

    An int always gives the same streams; a generator is advanced; None draws fresh entropy.
    """
    sequence = np.random.SeedSequence(_entropy(random_state))
    return [np.random.default_rng(child) for child in sequence.spawn(count)]


def seeds(random_state: Any, count: int) -> list[int]:
    """Spawn independent integer seeds, for objects that take a ``random_state`` of their own."""
    return [int(stream.integers(2**32)) for stream in streams(random_state, count)]


def _entropy(random_state: Any) -> int | list[int] | None:
    if random_state is None:
        return None
    if isinstance(random_state, int | np.integer):
        if random_state < 0:
            raise ValueError(f"random_state={random_state} is negative; give an integer >= 0.")
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return [int(word) for word in random_state.integers(2**32, size=4)]
    if isinstance(random_state, np.random.RandomState):
        return [int(word) for word in random_state.randint(2**32, size=4, dtype=np.uint64)]
    raise ValueError(
        f"random_state={random_state!r} is not an integer, a numpy Generator, "
        "a numpy RandomState or None."
    )
