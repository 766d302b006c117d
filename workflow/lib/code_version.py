"""Which code a job runs: a hash over its module and the modules of the project it imports.

It is part of every job's request, so that editing a module reruns the jobs that import it and only
those. Comments, docstrings and formatting do not count.
"""

import ast
import hashlib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"rnca": ROOT / "src" / "rnca", "workflow": ROOT / "workflow"}


@cache
def code_version(script: str) -> str:
    """Hash the import closure of a module, given relative to ``workflow/``."""
    digest = hashlib.sha256()
    for path in sorted(closure(ROOT / "workflow" / script)):
        digest.update(path.relative_to(ROOT).as_posix().encode())
        digest.update(_source_hash(path))
    return digest.hexdigest()[:16]


def closure(script: Path) -> set[Path]:
    """Return the script and every file of the project that it imports, directly or not."""
    found: set[Path] = set()
    waiting = [script]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting.extend(_imports(path))
    return found


@cache
def _imports(path: Path) -> frozenset[Path]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            if node.module == "rnca" and PACKAGES["workflow"] in path.parents:
                raise ValueError(
                    f"{path.name} imports from the package rnca itself; name the module "
                    "(from rnca.cca import RCCA), so that it reruns for that module alone."
                )
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(file for name in names for file in _files(name))


def _files(name: str) -> list[Path]:
    """Files that importing a module runs: its own and, inside the library, its packages'."""
    parts = name.split(".")
    if parts[0] not in PACKAGES:
        return []
    package = PACKAGES[parts[0]]
    places = [package.joinpath(*parts[1:end]) for end in range(2, len(parts) + 1)]
    candidates = [file for place in places for file in (place / "__init__.py", _module(place))]
    return [file for file in candidates if file.is_file()]


def _module(place: Path) -> Path:
    return place.with_name(f"{place.name}.py")


@cache
def _source_hash(path: Path) -> bytes:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [part for part in node.body if not _is_docstring(part)]
    return hashlib.sha256(ast.dump(tree).encode()).digest()


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
