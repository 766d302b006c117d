"""Fitted models as files of numbers and settings: npz archives without pickles."""

import json
import os
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

import rnca
from rnca.clustering import DegreeNormalised
from rnca.features.linear import JointFeatures
from rnca.files import opened_archive, read_member, replacing

_FORMAT = 1
# Not public, but held by models that are.
_INNER = {"DegreeNormalised": DegreeNormalised, "JointFeatures": JointFeatures}


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator or feature map of this library to an npz file.

    The file holds arrays, and settings as JSON; moments are left out, as in a pickle, and so is a
    ``random_state`` that is not an integer.

    Parameters
    ----------
    model : estimator
    path : path

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from rnca import RCCA, load_model, save_model
    >>> X, Y = np.random.default_rng(0).normal(size=(2, 100, 3))
    >>> model = RCCA(2, n_features=10, random_state=0, reg=0.1).fit(X, Y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/model.npz")
    ...     again = load_model(f"{folder}/model.npz")
    >>> bool((again.transform(X) == model.transform(X)).all())
    True
    """
    arrays: dict[str, Any] = {}
    settings = json.dumps({"format": _FORMAT, "model": _encoded(model, arrays)})
    check_is_fitted(model)
    with replacing(path) as partial, partial.open("wb") as file:
        np.savez(file, settings=np.array(settings), **arrays)


def load_model(path: str | os.PathLike[str]) -> Any:
    """Read a file of `save_model`; nothing in it can run code.

    Raises
    ------
    ValueError
        If the file is damaged, or not of this format.

    Examples
    --------
    >>> from rnca import load_model
    >>> load_model("nowhere.npz")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'nowhere.npz'
    """
    with opened_archive(path, "save_model") as stored:
        settings = json.loads(str(read_member(stored, "settings")))
        if settings["format"] != _FORMAT:
            raise ValueError(f"format {settings['format']}, this version reads {_FORMAT}")
        model = _decoded(settings["model"], stored, set())
        check_is_fitted(model)  # refuses what is no estimator, too
        return model


def _encoded(value: Any, arrays: dict[str, Any]) -> Any:
    """Return a value as JSON can hold it; its arrays go to ``arrays``."""
    if isinstance(value, BaseEstimator):
        if _class_named(type(value).__name__) is not type(value):
            raise TypeError(f"{value!r} is no estimator of rnca: save what it consists of.")
        state = value.__getstate__()
        state.pop("_sklearn_version", None)
        return {"class": type(value).__name__, "state": _encoded(state, arrays)}
    if isinstance(value, np.ndarray) and value.dtype != object:
        arrays[name := f"array{len(arrays)}"] = value
        return {"array": name}
    if isinstance(value, np.ndarray | list | tuple):
        return {type(value).__name__: [_encoded(each, arrays) for each in value]}
    if isinstance(value, dict):
        return {"dict": {key: _encoded(each, arrays) for key, each in value.items()}}
    if isinstance(value, np.random.Generator | np.random.RandomState):
        return None
    if isinstance(value, type | np.dtype):
        return np.dtype(value).name
    return value.item() if isinstance(value, np.generic) else value


def _decoded(value: Any, stored: Any, used: set[str]) -> Any:
    """Undo `_encoded`; ``used`` collects the names of arrays, which belong to one place each."""
    if not isinstance(value, dict):
        return value
    if "class" in value:
        kind, state = _class_named(value["class"]), _decoded(value["state"], stored, used)
        model = kind(**{name: state.pop(name) for name in kind._get_param_names()})
        vars(model).update(state)
        return model
    ((kind, held),) = value.items()
    if kind == "array":
        if held in used:
            raise ValueError(f"{held} is used more than once")
        used.add(held)
        return read_member(stored, held)
    if kind == "dict":
        return {key: _decoded(each, stored, used) for key, each in held.items()}
    parts = [_decoded(each, stored, used) for each in held]
    return {"list": list, "tuple": tuple}.get(kind, lambda each: np.array(each, object))(parts)


def _class_named(name: str) -> Any:
    found = getattr(rnca, name) if name in rnca.__all__ else _INNER.get(name)
    return found if isinstance(found, type) and issubclass(found, BaseEstimator) else None
