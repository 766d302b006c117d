"""What each job is asked for: its settings and the code it runs, in a file that is its input.

Snakemake compares file times. So that settings and code count as well, also where its own records
in ``.snakemake`` are gone, they are written to a small JSON file, only when they change, and that
file is an input of the job.
"""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rnca._core.files import replacing
from workflow.lib.code_version import code_version


class Request:
    """The settings of a rule's jobs, and their code: a module relative to ``workflow/``.

    A dry run, asked about when a job is planned since Snakemake does not know of it before, does
    not write to ``directory``: it writes a request that has changed to another file, so that
    Snakemake lists its job.
    """

    def __init__(
        self,
        script: str,
        settings: Mapping[str, Any] | Callable[[Any], Mapping[str, Any]],
        directory: str,
        is_dry_run: Callable[[], bool],
    ) -> None:
        self.script, self.settings = script, settings
        self.directory, self.is_dry_run = directory, is_dry_run

    def asked(self, wildcards: Any) -> dict[str, Any]:
        """Return the request, for ``params``."""
        settings = self.settings(wildcards) if callable(self.settings) else self.settings
        return {"settings": dict(settings), "code": code_version(self.script)}

    def file(self, wildcards: Any) -> str:
        """Return the file of the request, for ``input``, and write it if it has changed."""
        path = Path(self.directory, Path(self.script).with_suffix(""), *map(str, wildcards))
        path = path.with_name(f"{path.name}.json")
        text = spelled(self.asked(wildcards))
        if read_request(path) != text:
            if self.is_dry_run():
                path = Path(".snakemake", "rnca-dry-run", path)
            with replacing(path) as partial:
                partial.write_text(text, encoding="utf-8")
        return os.fspath(path)


def spelled(request: Mapping[str, Any]) -> str:
    """Write a request in the one form in which requests are compared."""
    return json.dumps(request, indent=1, sort_keys=True) + "\n"


def read_request(path: str | os.PathLike[str]) -> str | None:
    """Return the content of a request's file; None if there is none."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
