"""Cosines of random projections, which differ in how the projections are drawn."""

from dataclasses import KW_ONLY, dataclass
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.linalg
from scipy.special import ndtri
from scipy.stats import qmc

from rnca._core.blas import over_row_blocks, product_into
from rnca.features.base import FeatureMap, resolve_gamma
from rnca.rows import FloatArray, Matrix, View
from rnca.seeding import streams

Indices = npt.NDArray[np.integer[Any]]

# Sobol' points are multiples of 2^-bits.
_SOBOL_BITS = 30
# Numbers in a buffer of Fastfood: three of them, in float32, stay in the cache of a core.
_STRIP = 1 << 17
_BLOCK_ARRAYS = ("signs_", "permutations_", "gaussians_")
_LARGEST_FACTOR = 4  # log2 of its order, of a Hadamard matrix


@dataclass(eq=False, repr=False)
class FourierFeatures(FeatureMap):
    """Random Fourier features z(x) = cos(Wx + b) of the Gaussian kernel exp(-gamma ‖x − y‖²).

    W has rows drawn from N(0, 2·gamma·I) and b from U(0, 2π) (Eq. 4 of the paper). The features
    are unscaled: 2/m times their dot product estimates the kernel without bias.

    Parameters
    ----------
    n_features : int, default=1000
        Number of random features m.
    gamma : float or "median", default="median"
        Kernel width.
    random_state : int, numpy Generator, numpy RandomState or None
    dtype : {None, "float32", "float64"}
        Type of the features; None keeps the input's.

    Attributes
    ----------
    gamma_ : float
    weights_ : ndarray of shape (m, d)
    phases_ : ndarray of shape (m,)
    offset_ : ndarray of shape (d,)
        Pilot mean, subtracted from every row first.

    Examples
    --------
    >>> import numpy as np
    >>> from rnca import FourierFeatures
    >>> X = np.random.default_rng(0).normal(size=(5, 3))
    >>> FourierFeatures(n_features=4, random_state=0).fit_transform(X).shape
    (5, 4)
    """

    _fitted_arrays: ClassVar[tuple[str, ...]] = ("weights_", "phases_")

    n_features: int = 1000
    _: KW_ONLY
    gamma: float | str = "median"
    random_state: Any = None
    dtype: Any = None

    def _draw(self, view: View) -> None:
        m, dtype = self._check_n_features(), self._stored_dtype()
        of_gamma, of_weights, of_phases = streams(self.random_state, 3)
        self.gamma_ = resolve_gamma(self.gamma, view, of_gamma)
        phases = of_phases.uniform(0.0, 2.0 * np.pi, m)
        self.phases_ = phases.astype(dtype, copy=False)
        self._draw_weights(m, view.shape[1], of_weights)

    def _draw_weights(self, m: int, d: int, rng: np.random.Generator) -> None:
        weights = self._standard_weights(m, d, rng)
        weights *= np.sqrt(2.0 * self.gamma_)
        self.weights_ = weights.astype(self._stored_dtype(), copy=False)

    def _standard_weights(self, m: int, d: int, rng: np.random.Generator) -> Matrix:
        """Draw m rows, each from N(0, I)."""
        # Drawn row by row: numpy fills C order, so m rows are the first m of any longer draw.
        return rng.standard_normal((m, d))

    def _map(self, x: FloatArray, out: FloatArray) -> None:
        product_into(x, self.weights_.astype(out.dtype, copy=False), out)
        phases = self.phases_.astype(out.dtype, copy=False)

        def cosines(block: slice) -> None:
            z = out[block]
            z += phases
            np.cos(z, out=z)

        over_row_blocks(cosines, len(out))


class OrthogonalFeatures(FourierFeatures):
    """Fourier features whose projections are orthogonal to each other in blocks of d.

    Each row of W still follows N(0, 2·gamma·I), so that 2/m times the dot product of features
    estimates the kernel without bias, but within a block directions do not repeat each other,
    which lowers the variance (Yu et al., Orthogonal random features, 2016). Evaluation costs what
    Fourier features cost; drawing costs a QR factorisation of each block.

    Parameters and fitted attributes are those of `FourierFeatures`.

    Examples
    --------
    >>> import numpy as np
    >>> from rnca import OrthogonalFeatures
    >>> X = np.random.default_rng(0).normal(size=(5, 3))
    >>> W = OrthogonalFeatures(n_features=3, random_state=0).fit(X).weights_
    >>> bool(abs(W @ W.T - np.diag(np.diag(W @ W.T))).max() < 1e-12)
    True
    """

    # A factorisation's last digits depend on the machine, what it was made from does not.
    _identifying_arrays = ("phases_",)

    def _standard_weights(self, m: int, d: int, rng: np.random.Generator) -> Matrix:
        of_directions, of_lengths = rng.spawn(2)
        weights = np.empty((m, d))
        for start in range(0, m, d):
            block = weights[start : start + d]
            block[:] = _orthonormal_rows(of_directions.standard_normal(block.shape))
        weights *= np.sqrt(of_lengths.chisquare(d, m))[:, None]
        return weights


def _orthonormal_rows(gaussian: Matrix) -> Matrix:
    """Orthonormalise the rows in order, so that the first ones do not depend on those after."""
    Q, R = scipy.linalg.qr(gaussian.T, mode="economic", overwrite_a=True)
    # Positive diagonals make the factorisation unique and Q uniform over orthonormal frames.
    rows: Matrix = (Q * np.where(np.diag(R) < 0, -1.0, 1.0)).T
    return rows


class QuasiMonteCarloFeatures(FourierFeatures):
    """Fourier features whose projections and phases fill their space evenly.

    Points of a scrambled Sobol' sequence in d + 1 dimensions take the place of independent draws
    (Yang et al., Quasi-Monte Carlo feature maps for shift-invariant kernels, 2014): the first
    coordinate gives b, the normal quantiles of the others give W. Each row of W follows
    N(0, 2·gamma·I), so that 2/m times the dot product of features estimates the kernel without
    bias. Evaluation costs what Fourier features cost.

    Parameters and fitted attributes are those of `FourierFeatures`.

    Examples
    --------
    >>> import numpy as np
    >>> from rnca import QuasiMonteCarloFeatures
    >>> X = np.random.default_rng(0).normal(size=(5, 3))
    >>> QuasiMonteCarloFeatures(n_features=4, random_state=0).fit_transform(X).shape
    (5, 4)
    """

    def _standard_weights(self, m: int, d: int, rng: np.random.Generator) -> Matrix:
        limit = int(qmc.Sobol.MAXDIM) - 1
        if d > limit:
            raise ValueError(
                f"quasi-Monte-Carlo features of data with {d} columns: Sobol' sequences are known "
                f"for up to {limit} of them. Use Fourier, orthogonal or Fastfood features."
            )
        sequence = qmc.Sobol(d + 1, bits=_SOBOL_BITS, rng=rng)
        # A sequence is balanced at powers of 2; cut after that, it is still a prefix. Points move
        # to the middle of their cells, since 0 has no normal quantile.
        points: Matrix = sequence.random(1 << (m - 1).bit_length())[:m] + 0.5 ** (_SOBOL_BITS + 1)
        self.phases_ = (2.0 * np.pi * points[:, 0]).astype(self._stored_dtype(), copy=False)
        weights: Matrix = ndtri(points[:, 1:])
        return weights


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


def hadamard_transform(
    x: FloatArray, scratch: FloatArray, out: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Multiply the columns of x, of shape (2^p, n), by the Hadamard matrix in natural order.

    All three arrays are of one type, in C order. The two buffers are overwritten, and returned:
    first the one that holds Hx.

    H of order 2^p is a Kronecker product of Hadamard matrices of order 16 or less, and each factor
    is one matrix product along its own axis. A number costs 8 or 16 multiplications a factor, where
    the textbook butterfly takes one addition in each of p steps, and yet, in numpy at orders from
    512 to 8192, less than half the time: BLAS works in registers, every step of a butterfly goes
    through memory. No library was found that serves: scikit-learn-extra has no maintainer and does
    not import with numpy 2, pyfwht has no float32 on the CPU and is under the GPL, others need
    torch.
    """
    order, n = x.shape
    source, target, other = x, out, scratch
    left = 1
    for exponent in _exponents(order.bit_length() - 1):
        size = 1 << exponent
        shape = left, size, order // (left * size) * n
        np.matmul(_factor(size, x.dtype), source.reshape(shape), out=target.reshape(shape))
        source, target, other = target, other, target
        left *= size
    return source, target


@cache
def _factor(order: int, dtype: np.dtype[Any]) -> FloatArray:
    H: FloatArray = scipy.linalg.hadamard(order, dtype=dtype)
    return H


def _exponents(p: int) -> list[int]:
    """Split p into as few nearly equal parts as the largest factor allows."""
    count = max(1, -(-p // _LARGEST_FACTOR))
    return [p // count + (i < p % count) for i in range(count)]
