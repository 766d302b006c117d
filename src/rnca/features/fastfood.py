"""Fourier features by fast transforms instead of a matrix of weights."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from rnca._core.rows import FloatArray
from rnca.features.cosine import FourierFeatures
from rnca.features.hadamard import hadamard_transform

Indices = npt.NDArray[np.integer[Any]]

# Numbers in a buffer: three of them, in float32, stay in the cache of a core.
_STRIP = 1 << 17
_BLOCK_ARRAYS = ("signs_", "permutations_", "gaussians_")


class FastfoodFeatures(FourierFeatures):
    """Fourier features cos(Wx + b) with a W that is never stored (Le et al., Fastfood, 2013).

    W is a stack of blocks √(2·gamma)·S·H·G·Π·H·B of order D, the power of 2 at or above d: signs
    B, a permutation Π, Gaussian numbers G, lengths S, and Hadamard matrices H, which a fast
    transform applies. So m features of a row take of the order of m·log D steps and 4·m numbers
    instead of m·d of both. Each row of W still follows N(0, 2·gamma·I), so that 2/m times the dot
    product of features estimates the kernel without bias; rows of a block are not independent.

    Parameters are those of `FourierFeatures`. Features come in blocks of D; of the last block only
    what is needed is computed.

    Attributes
    ----------
    gamma_ : float
    signs_, permutations_, gaussians_ : ndarray of shape (ceil(m / D), D)
        B, Π and G of each block.
    scales_ : ndarray of shape (m,)
        S, over the norm of what it multiplies.
    phases_, offset_
        As in `FourierFeatures`.

    Examples
    --------
    >>> import numpy as np
    >>> from rnca import FastfoodFeatures
    >>> X = np.random.default_rng(0).normal(size=(5, 3))
    >>> FastfoodFeatures(n_features=6, random_state=0).fit(X).signs_.shape
    (2, 4)
    """

    _fitted_arrays = ("scales_", "phases_")
    _identifying_arrays = ("phases_", *_BLOCK_ARRAYS)

    def _draw_weights(self, m: int, d: int, rng: np.random.Generator) -> None:
        dtype = self._stored_dtype()
        order = 1 << (d - 1).bit_length()
        blocks = -(-m // order)
        of_signs, of_permutations, of_gaussians, of_lengths = rng.spawn(4)
        self.signs_ = of_signs.choice(np.array([-1, 1], np.int8), (blocks, order))
        self.permutations_ = np.array([of_permutations.permutation(order) for _ in range(blocks)])
        gaussians = of_gaussians.standard_normal((blocks, order))
        self.gaussians_ = gaussians.astype(dtype, copy=False)
        # A row of HGΠHB has norm √D‖G‖; that of a row of N(0, I) follows the chi distribution.
        norms = np.sqrt(order) * np.linalg.norm(gaussians, axis=1)
        lengths = np.sqrt(of_lengths.chisquare(order, m))
        self.scales_ = (lengths / np.repeat(norms, order)[:m]).astype(dtype, copy=False)

    def prefix(self, m: int) -> Self:
        """Return the fitted map of the first ``m`` features; shares memory with this one."""
        shorter = super().prefix(m)
        blocks = -(-m // self.signs_.shape[1])
        for name in _BLOCK_ARRAYS:
            setattr(shorter, name, getattr(self, name)[:blocks])
        return shorter

    def _map(self, x: FloatArray, out: FloatArray) -> None:
        rows = max(1, _STRIP // self.signs_.shape[1])
        signs = (self.signs_ * np.sqrt(2.0 * self.gamma_)).astype(out.dtype)
        for low in range(0, len(x), rows):
            # Columns are samples from here on: permutations then move whole contiguous rows.
            samples = np.ascontiguousarray(x[low : low + rows].T)
            self._map_strip(samples, signs[:, : len(samples), None], out[low : low + rows])

    def _map_strip(self, samples: FloatArray, signs: FloatArray, out: FloatArray) -> None:
        order, d = self.signs_.shape[1], len(samples)
        gaussians, scales, phases = (
            numbers.astype(out.dtype, copy=False)[..., None]
            for numbers in (self.gaussians_, self.scales_, self.phases_)
        )
        buffers = [np.empty((order, len(out)), out.dtype) for _ in range(3)]
        for block, start in enumerate(range(0, len(scales), order)):
            features = slice(start, start + order)
            np.multiply(samples, signs[block], out=buffers[0][:d])
            buffers[0][d:] = 0
            count = len(scales[features])
            z = _project(buffers, self.permutations_[block], gaussians[block], count)
            z *= scales[features]
            z += phases[features]
            np.cos(z, out=z)
            out[:, features] = z.T


def _project(
    buffers: list[FloatArray], permutation: Indices, gaussians: FloatArray, count: int
) -> FloatArray:
    """Return the first ``count`` rows of HGΠH times the first buffer; all are overwritten."""
    product, spare = hadamard_transform(*buffers)
    mixed = np.take(product, permutation, axis=0, out=spare, mode="clip")
    mixed *= gaussians
    # The first 2^q rows of H repeat those of the Hadamard matrix of order 2^q.
    size = 1 << (count - 1).bit_length()
    if size < len(mixed):
        mixed = mixed.reshape(-1, size, mixed.shape[1]).sum(axis=0)
    product, _ = hadamard_transform(mixed, product[:size], buffers[0][:size])
    return product[:count]
