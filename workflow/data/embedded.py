"""Datasets that need no network: what scikit-learn carries, and one that is drawn.

They have the shapes of the paper's datasets at a size that runs in seconds, and stand in for
them in the default run. Numbers from them say nothing about the paper's.

scikit-learn and scipy are imported where they are used: the workflow reads the catalogue whenever
it starts, with every job, and importing these takes longer than all the rest.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflow.data.mnist import halves
from workflow.data.prepared import Content

DIGITS_CITATION = (
    "E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits, UCI Machine Learning "
    "Repository, 1998, doi:10.24432/C50P49; as distributed with scikit-learn"
)
DIGITS_LICENCE = "CC BY 4.0"

# One row per attribute, one column per digit 0-9. The first seven are the segments of a
# seven-segment display (a on top, clockwise to f, g in the middle); the others are facts about
# how the digit is usually written.
ATTRIBUTES = {
    "segment a": (1, 0, 1, 1, 0, 1, 1, 1, 1, 1),
    "segment b": (1, 1, 1, 1, 1, 0, 0, 1, 1, 1),
    "segment c": (1, 1, 0, 1, 1, 1, 1, 1, 1, 1),
    "segment d": (1, 0, 1, 1, 0, 1, 1, 0, 1, 1),
    "segment e": (1, 0, 1, 0, 0, 0, 1, 0, 1, 0),
    "segment f": (1, 0, 0, 0, 1, 1, 1, 0, 1, 1),
    "segment g": (0, 0, 1, 1, 1, 1, 1, 0, 1, 1),
    "has a hole": (1, 0, 0, 0, 0, 0, 1, 0, 1, 1),
    "has two holes": (0, 0, 0, 0, 0, 0, 0, 0, 1, 0),
    "hole in the upper half": (0, 0, 0, 0, 0, 0, 0, 0, 1, 1),
    "hole in the lower half": (0, 0, 0, 0, 0, 0, 1, 0, 1, 0),
    "curved stroke": (1, 0, 1, 1, 0, 1, 1, 0, 1, 1),
    "straight strokes only": (0, 1, 0, 0, 1, 0, 0, 1, 0, 0),
    "horizontal stroke": (0, 0, 1, 0, 1, 1, 0, 1, 0, 0),
    "slanted stroke": (0, 0, 1, 0, 1, 0, 0, 1, 0, 0),
    "sharp corner": (0, 0, 1, 0, 1, 1, 0, 1, 0, 0),
    "open to the left": (0, 0, 1, 1, 0, 1, 0, 1, 0, 1),
    "open to the right": (0, 0, 1, 0, 0, 1, 1, 0, 0, 0),
    "mirror image left to right": (1, 1, 0, 0, 0, 0, 0, 0, 1, 0),
    "mirror image top to bottom": (1, 1, 0, 1, 0, 0, 0, 0, 1, 0),
    "two strokes of the pen": (0, 0, 0, 0, 1, 1, 0, 0, 0, 0),
}

PATCH_SIZE = 8

ACOUSTIC_COLUMNS = 273
ARTICULATORY_COLUMNS = 112
LATENT_CORRELATIONS = (0.98, 0.944, 0.908, 0.872, 0.836, 0.8)
NOISE = 0.02
SPEECH_SEED = 20140621
SPEECH_GROUPS = 100

RADII = (1.0, 3.0, 5.0)
RING_COLUMNS = 10
RING_NOISE = 0.2
RINGS_SEED = 19990621


def digits() -> Content:
    """Return scikit-learn's 1797 digits of 8 × 8 pixels, values 0 to 16; the views are halves."""
    images, labels = _digit_images()
    left, right = halves(images)
    arrays = {"x": left, "y": right, "images": images, "labels": labels}
    return Content(arrays, {"citation": DIGITS_CITATION, "licence": DIGITS_LICENCE})


def digits_attributes() -> Content:
    """Return the digits (1797 × 64) with facts about each class (10 × 21), as AwA has them."""
    images, labels = _digit_images()
    attributes = np.array(list(ATTRIBUTES.values()), dtype=np.uint8).T
    arrays = {"x": images.reshape(len(images), -1), "labels": labels, "attributes": attributes}
    meta = {
        "citation": DIGITS_CITATION,
        "licence": DIGITS_LICENCE,
        "class_names": [str(digit) for digit in range(10)],
        "attribute_names": list(ATTRIBUTES),
    }
    return Content(arrays, meta)


def patches() -> Content:
    """Return the 8 × 8 colour patches of scikit-learn's two photographs, which are the labels."""
    from sklearn.datasets import load_sample_images

    photographs = load_sample_images()
    cut = [_grid(np.asarray(photo, dtype=np.uint8)) for photo in photographs.images]
    labels = np.repeat(np.arange(len(cut), dtype=np.uint8), [len(part) for part in cut])
    meta = {
        "citation": "china.jpg by Jeffrey Hamilton and flower.jpg by Brian Dewey, "
        "as distributed with scikit-learn",
        "licence": "CC BY 2.0",
        "class_names": [str(name).split("/")[-1] for name in photographs.filenames],
        "notes": ["neighbouring patches of one photograph resemble each other"],
    }
    return Content({"images": np.concatenate(cut), "labels": labels}, meta)


def synthetic_speech(n_rows: int = 5000) -> Content:
    r"""Draw two views of 273 and 112 columns whose canonical correlations are known.

    For k = 1 … 6 let (u_k, v_k) be a standard normal pair of correlation ρ_k =
    ``LATENT_CORRELATIONS[k]``, independent over k. The views are

        x = P [u_1 … u_6, noise],    y = Q [sin θ_1 … sin θ_6, cos θ_1 … cos θ_6, noise],
        θ_k = π·erf(v_k/√2),

    with fixed orthogonal P, Q and independent normal noise of standard deviation 0.02 in the
    remaining 267 and 100 coordinates. So θ_k is uniform on (−π, π).

    *Nonlinear.* x is a one-to-one function of (u, noise) and y, almost surely, of (v, noise);
    the two noises are independent of everything. Square-integrable functions of a normal pair
    are paired by the Hermite polynomials: E[h_j(u_k)·h_i(v_k)] = δ_ij·ρ_k^j (Mehler). Products
    over k are an orthonormal basis of the functions of u and of v, so the canonical
    correlations over *all* functions of x and of y are the numbers ∏_k ρ_k^(j_k), with
    (j_1 … j_6) ≠ 0, sorted; the functions that involve noise have correlation 0. The 112
    largest are in meta as ``population_correlations``: what RCCA tends to.

    *Linear.* cos θ_k is even in v_k, hence uncorrelated with u; sin θ_k has variance 1/2 and
    covariance ρ_k·E[v·sin θ(v)] with u_k. So linear CCA has the six correlations c·ρ_k,
    c = √2·E[v·sin θ(v)] ≈ 0.656, and no others: ``population_linear_correlations``.

    Rows are independent, so more of them only estimate the same numbers better. The 100
    ``groups`` take turns and carry no information; ``given_split`` gives the first 3/5 of the
    rows to train, then 1/5 to tune and 1/5 to test.
    """
    from scipy.special import erf

    rho = np.array(LATENT_CORRELATIONS)
    mixing, drawing = np.random.SeedSequence(SPEECH_SEED).spawn(2)
    rng = np.random.default_rng(drawing)
    u = rng.standard_normal((n_rows, len(rho)))
    v = rho * u + np.sqrt(1 - rho**2) * rng.standard_normal(u.shape)
    theta = np.pi * erf(v / np.sqrt(2))
    P, Q = speech_mixing(mixing)
    x = _with_noise(u, ACOUSTIC_COLUMNS, rng) @ P.T
    y = _with_noise(np.hstack([np.sin(theta), np.cos(theta)]), ARTICULATORY_COLUMNS, rng) @ Q.T
    row = np.arange(n_rows)
    arrays: dict[str, NDArray[Any]] = {
        "x": x.astype(np.float32),
        "y": y.astype(np.float32),
        "groups": (row % SPEECH_GROUPS).astype(np.int32),
        "given_split": np.searchsorted([0.6, 0.8], row / n_rows, side="right").astype(np.int8),
    }
    meta = {
        "citation": "drawn by workflow.data.embedded.synthetic_speech",
        "licence": "CC0",
        "population_correlations": largest_products(rho, ARTICULATORY_COLUMNS),
        "population_linear_correlations": (_linear_factor() * rho).tolist(),
        "notes": ["drawn, not recorded: its canonical correlations are known exactly"],
    }
    return Content(arrays, meta)


def rings(n_rows: int = 20_000) -> Content:
    """Draw two views of three rings each, in which linear PCA and linear CCA see nothing.

    A row has a ring c and an angle θ, both uniform, and the views

        x = P [r·cos θ, r·sin θ, 0 … 0] + noise,    y = Q [s·cos 2θ, s·sin 2θ, 0 … 0] + noise

    of 10 columns, with r = 1, 3, 5 and s = 5, 3, 1 on the three rings, fixed orthogonal P and Q,
    and independent normal noise of standard deviation 0.2 in every column.

    Each view's covariance is a multiple of the identity on the plane of its rings, so that every
    direction of linear PCA in it is as good as any other and shows the rings on top of each other.
    The cross-covariance is 0, since cos θ and sin θ are uncorrelated with cos 2θ and sin 2θ: all
    linear canonical correlations are 0, though y is a function of x but for the noise.
    """
    rng = np.random.default_rng(RINGS_SEED)
    P, Q = (_orthogonal(RING_COLUMNS, rng) for _ in range(2))
    ring = rng.integers(len(RADII), size=n_rows)
    angle = rng.uniform(-np.pi, np.pi, n_rows)
    radius = np.array(RADII)
    x, y = (
        _circle(radii, turns * angle) @ mixing[:, :2].T
        + RING_NOISE * rng.standard_normal((n_rows, RING_COLUMNS))
        for radii, turns, mixing in ((radius[ring], 1, P), (radius[::-1][ring], 2, Q))
    )
    arrays: dict[str, NDArray[Any]] = {
        "x": x.astype(np.float32),
        "y": y.astype(np.float32),
        "labels": ring.astype(np.uint8),
    }
    meta = {
        "citation": "drawn by workflow.data.embedded.rings",
        "licence": "CC0",
        "class_names": ["inner ring", "middle ring", "outer ring"],
        "notes": ["drawn, not recorded: linear PCA and linear CCA find nothing in it"],
    }
    return Content(arrays, meta)


def speech_mixing(
    seed: np.random.SeedSequence,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the two orthogonal matrices (273 × 273 and 112 × 112) of the synthetic views."""
    rng = np.random.default_rng(seed)
    P, Q = (_orthogonal(columns, rng) for columns in (ACOUSTIC_COLUMNS, ARTICULATORY_COLUMNS))
    return P, Q


def largest_products(rho: NDArray[np.float64], count: int) -> list[float]:
    """Return the `count` largest products of powers of `rho` (not all powers zero), sorted."""
    found: list[float] = []
    # Each product is reached once, by multiplying in factors of non-decreasing index only.
    heap = [(-float(value), index) for index, value in enumerate(rho)]
    heapq.heapify(heap)
    while len(found) < count:
        value, last = heapq.heappop(heap)
        found.append(-value)
        for index in range(last, len(rho)):
            heapq.heappush(heap, (value * float(rho[index]), index))
    return found


def _linear_factor() -> float:
    from scipy.special import erf, roots_hermitenorm

    # E[v·sin θ(v)] = 2π·E[cos θ(v)·φ(v)] by Stein's lemma; the integrand is smooth.
    nodes, weights = roots_hermitenorm(200)
    theta = np.pi * erf(nodes / np.sqrt(2))
    density = np.exp(-(nodes**2) / 2) / np.sqrt(2 * np.pi)
    stein = 2 * np.pi * density * np.cos(theta)
    return float(np.sqrt(2) * (weights @ stein) / weights.sum())


def _orthogonal(columns: int, rng: np.random.Generator) -> NDArray[np.float64]:
    Q: NDArray[np.float64] = np.linalg.qr(rng.standard_normal((columns, columns)))[0]
    return Q


def _circle(radius: NDArray[np.float64], angle: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def _with_noise(
    signal: NDArray[np.float64], columns: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    noise = NOISE * rng.standard_normal((len(signal), columns - signal.shape[1]))
    return np.hstack([signal, noise])


def _digit_images() -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    from sklearn.datasets import load_digits

    bunch = load_digits()
    return bunch.images.astype(np.uint8), bunch.target.astype(np.uint8)


def _grid(photo: NDArray[np.uint8]) -> NDArray[np.uint8]:
    rows, columns = (length // PATCH_SIZE for length in photo.shape[:2])
    cropped = photo[: rows * PATCH_SIZE, : columns * PATCH_SIZE]
    tiles = cropped.reshape(rows, PATCH_SIZE, columns, PATCH_SIZE, 3).swapaxes(1, 2)
    return tiles.reshape(-1, PATCH_SIZE, PATCH_SIZE, 3)
