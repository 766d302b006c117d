"""Other people's code on the same data, features and threads, and the agreement of the answers.

A peer is given the features as one float64 array, made by our own maps; what making them takes is
counted on its side, as it is on ours. Ours and the peer's turns alternate.
"""

import json
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import psutil
from sklearn.base import BaseEstimator, clone
from sklearn.cross_decomposition import CCA
from sklearn.decomposition import PCA, IncrementalPCA
from sklearn.kernel_approximation import Nystroem

from benchmarks.common import REG, SEED, Data, Row, Settings, estimator, medians, say, seconds
from rnca import RCCA, RPCA, NystroemFeatures

Matrix = npt.NDArray[np.float64]
Answer = Callable[[], float]

# Copies of the features that a peer is assumed to need at once.
_COPIES = 4
_FEW_COMPONENTS = 2


class Peer(NamedTuple):
    """One competitor."""

    task: str  # CCA or PCA
    name: str
    package: str  # distribution whose version is noted
    n: int  # less than ours where it would take hours, as are the components
    components: int
    solve: Callable[..., Any]  # of the features and components: what is timed
    ours: RCCA | RPCA  # our unfitted estimator
    features: Callable[[Any, Data, int], list[Matrix]]  # of our fitted estimator and n rows


def peers(settings: Settings, data: Data) -> Iterator[Row]:
    """Compare with each peer."""
    for peer in competitors(settings):
        say(f"peers: {peer.name}, n = {peer.n}")
        yield compare(settings, data, peer)


def competitors(settings: Settings) -> list[Peer]:
    """List who is compared with RCCA and with RPCA."""
    n, few, k, m = settings.n, settings.few, settings.components, settings.m
    fourier = RPCA(k, n_features=m, random_state=SEED)
    nystroem = RPCA(k, feature_map=NystroemFeatures(m, whiten=True), random_state=SEED)
    eigh = PCA(k, svd_solver="covariance_eigh")
    randomized = PCA(k, svd_solver="randomized", random_state=SEED)

    def cca(name: str, package: str, n: int, solve: Any, k: int = k) -> Peer:
        return Peer("CCA", name, package, n, k, solve, estimator(k, m), _own_features)

    def pca(
        name: str, n: int, model: Any, ours: RPCA = fourier, features: Any = _own_features
    ) -> Peer:
        solve = partial(_sklearn_pca, model)
        return Peer("PCA", f"scikit-learn {name}", "scikit-learn", n, k, solve, ours, features)

    return [
        cca("numpy, textbook", "numpy", n, _numpy_naive),
        cca("cca-zoo RidgeCCA", "cca-zoo", n, _cca_zoo),
        cca("mvlearn CCA", "mvlearn", n, _mvlearn),
        cca("scikit-learn CCA", "scikit-learn", few, _sklearn_cca, _FEW_COMPONENTS),
        cca("the authors' R", "", few, partial(_authors, settings.authors)),
        pca("PCA, covariance_eigh", n, eigh),
        pca("PCA, randomized", n, randomized),
        pca("PCA, full", few, PCA(k, svd_solver="full")),
        pca("IncrementalPCA", few, IncrementalPCA(k, batch_size=2048)),
        pca("Nystroem + PCA", n, eigh, nystroem, _sklearn_nystroem),
    ]


def compare(settings: Settings, data: Data, peer: Peer) -> Row:
    """Measure ours and the peer in turns, or say why that cannot be."""
    names = {"task": peer.task, "peer": peer.name}
    row = {**names, "n": peer.n, "m": settings.m, "components": peer.components}
    try:
        row["version"] = version(peer.package) if peer.package else ""
        need = 8 * settings.m * peer.n * _COPIES * (2 if peer.task == "CCA" else 1)
        free = psutil.virtual_memory().available
        if need > free:
            raise MemoryError(f"about {need / 1e9:.1f} GB needed, {free / 1e9:.1f} are free")
        _turns(peer, data, min(peer.n, 2 * settings.m))  # a warm-up
    except Exception as error:  # whatever an old package raises against new ones
        return {**row, "skipped": f"{type(error).__name__}: {error}"}
    turns = partial(_turns, peer, data, peer.n)
    return {**row, **medians(turns, settings.repeats, settings.budget)}


def _turns(peer: Peer, data: Data, n: int) -> Row:
    views = [view[:n] for view in ((data.x, data.y) if peer.task == "CCA" else (data.x,))]
    ours = clone(peer.ours)
    ours_seconds = seconds(lambda: ours.fit(*views))[0]
    features_seconds, features = seconds(lambda: peer.features(ours, data, n))
    solve_seconds, answer = seconds(lambda: peer.solve(*features, peer.components))
    if isinstance(answer, dict):  # R measures itself, without the time to hand it the data
        solve_seconds, answer = answer["seconds"], partial(float, answer["answer"])
    found = ours.correlations_ if peer.task == "CCA" else ours.explained_variance_
    return {
        "feature_seconds": features_seconds,
        "solve_seconds": solve_seconds,
        "seconds": features_seconds + solve_seconds,
        "ours_seconds": ours_seconds,
        "ratio": (features_seconds + solve_seconds) / ours_seconds,
        "answer": float(answer()),
        "ours_answer": float(found.sum()),
    }


def _own_features(model: Any, data: Data, n: int) -> list[Matrix]:
    maps = (model.map_x_, model.map_y_) if isinstance(model, RCCA) else (model.map_,)
    return [
        fitted.transform(view[:n]).astype(np.float64)
        for fitted, view in zip(maps, (data.x, data.y), strict=False)
    ]


def _sklearn_nystroem(model: RPCA, data: Data, n: int) -> list[Matrix]:
    own = Nystroem(
        gamma=model.map_.gamma_, n_components=model.map_.n_features_out, random_state=SEED
    )
    return [own.fit_transform(data.x[:n].astype(np.float64))]


def _summed_correlations(zx: Matrix, zy: Matrix, F: Matrix, G: Matrix) -> float:
    u, v = (z @ basis for z, basis in ((zx, F), (zy, G)))
    u, v = u - u.mean(axis=0), v - v.mean(axis=0)
    norms = np.linalg.norm(u, axis=0) * np.linalg.norm(v, axis=0)
    return float(np.abs((u * v).sum(axis=0) / norms).sum())


def _numpy_naive(zx: Matrix, zy: Matrix, k: int) -> Answer:
    m = zx.shape[1]
    joint = np.cov(np.hstack([zx, zy]), rowvar=False)
    joint += REG * np.eye(2 * m)
    roots = [np.linalg.inv(np.linalg.cholesky(C)) for C in (joint[:m, :m], joint[m:, m:])]
    U, _, Vt = np.linalg.svd(roots[0] @ joint[:m, m:] @ roots[1].T)
    F, G = roots[0].T @ U[:, :k], roots[1].T @ Vt[:k].T
    return partial(_summed_correlations, zx, zy, F, G)


def _cca_zoo(zx: Matrix, zy: Matrix, k: int) -> Answer:
    model = import_module("cca_zoo.linear").RidgeCCA(n_components=k, shrinkage=REG)
    model.fit([zx, zy])
    return partial(_summed_correlations, zx, zy, *model.weights_)


def _mvlearn(zx: Matrix, zy: Matrix, k: int) -> Answer:
    splitter = import_module("mvlearn.compose").SimpleSplitter
    if not issubclass(splitter, BaseEstimator):
        # Without tags scikit-learn from 1.7 on refuses this helper after all the work is done.
        splitter.__sklearn_tags__ = BaseEstimator.__sklearn_tags__
    # Its regulariser is added to ZᵀZ, not to the covariance.
    model = import_module("mvlearn.embed").CCA(n_components=k, regs=REG * (len(zx) - 1))
    model.fit([zx, zy])
    return partial(_summed_correlations, zx, zy, *model.loadings_)


def _sklearn_cca(zx: Matrix, zy: Matrix, k: int) -> Answer:
    model = CCA(n_components=k, scale=False)
    with warnings.catch_warnings():
        # Its answer beside ours tells whether it converged.
        warnings.simplefilter("ignore")
        model.fit(zx, zy)
    return partial(_summed_correlations, zx, zy, model.x_rotations_, model.y_rotations_)


def _sklearn_pca(model: Any, z: Matrix, k: int) -> Answer:
    model.fit(z)
    return lambda: float(model.explained_variance_[:k].sum())


def _authors(code: Path | None, zx: Matrix, zy: Matrix, k: int) -> dict[str, float]:
    if code is None:
        raise RuntimeError("give the path of the authors' rca.r with --authors-r")
    if shutil.which("Rscript") is None:
        raise RuntimeError("Rscript is not on the PATH")
    with tempfile.TemporaryDirectory() as place:
        for name, z in (("x", zx), ("y", zy)):
            # R stores columns.
            z.T.tofile(Path(place, name))
        driver = Path(__file__).with_name("authors.R")
        arguments = [code, place, len(zx), zx.shape[1], k, REG]
        done = subprocess.run(
            ["Rscript", driver, *map(str, arguments)], capture_output=True, text=True, check=False
        )
    if done.returncode != 0:
        raise RuntimeError(f"Rscript failed: {done.stderr.strip()[-300:]}")
    reported: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return reported
