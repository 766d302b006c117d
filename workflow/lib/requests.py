"""What each job is asked for: its settings and the code it runs, in a file that is its input.

Snakemake compares file times. So that settings and code count as well, also where its own records
in ``.snakemake`` are gone, they are written to a small JSON file, only when they change, and that
file is an input of the job. The code is a hash over the job's module and the modules of the project
it imports: editing a module reruns the jobs that import it and only those. Comments, docstrings and
formatting do not count.
"""

import ast
import hashlib
import json
import os
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from rnca.files import replacing

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"rnca": ROOT / "src" / "rnca", "workflow": ROOT / "workflow"}


class Request:
    """The settings of a rule's jobs, and their code: a module relative to ``workflow/``.

    ``file`` is where a request is written, with wildcards. A dry run, asked about when a job is
    planned since Snakemake does not know of it before, writes a request that has changed to another
    file, so that Snakemake lists its job.
    """

    def __init__(
        self,
        script: str,
        settings: Mapping[str, Any] | Callable[[Any], Mapping[str, Any]],
        file: str,
        is_dry_run: Callable[[], bool],
    ) -> None:
        self.script, self.settings = script, settings
        self.place, self.is_dry_run = file, is_dry_run

    def text(self, wildcards: Any) -> str:
        """Return the request of a job."""
        settings = self.settings(wildcards) if callable(self.settings) else self.settings
        return spelled({"settings": dict(settings), "code": code_version(self.script)})

    def file(self, wildcards: Any) -> str:
        """Return the file of a job's request, for ``input``, and write it if it has changed.

        If that fails, or a file that is asked for cannot be read, Snakemake ends.
        """
        path = Path(self.place.format_map(dict(wildcards.items())))
        try:
            text = self.text(wildcards)
            if read_request(path) != text:
                if self.is_dry_run():
                    path = Path(".snakemake", "rnca-dry-run", path)
                with replacing(path) as partial:
                    partial.write_text(text, encoding="utf-8")
        except OSError as error:
            print(f"The jobs cannot be planned: {error}", file=sys.stderr)
            print("The same command continues where this run stopped.", file=sys.stderr)
            sys.exit(os.EX_IOERR)
        return os.fspath(path)


def spelled(request: Mapping[str, Any]) -> str:
    """Write a request in the one form in which requests are compared: titles keep their order."""
    return json.dumps(request, indent=1) + "\n"


def read_request(path: str | os.PathLike[str]) -> str | None:
    """Return the content of a request's file; None if there is none."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


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
    found = (file for each in places for file in (each / "__init__.py", each.with_suffix(".py")))
    return [file for file in found if file.is_file()]


@cache
def _source_hash(path: Path) -> bytes:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [part for part in node.body if not _is_docstring(part)]
    return hashlib.sha256(ast.dump(tree).encode()).digest()


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
