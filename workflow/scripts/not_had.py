"""Why a job has no dataset to work on."""

import json
from pathlib import Path
from typing import Any


def why_not_had(snakemake: Any) -> str:
    """Return the reason from the record of the failed fetch, or that the settings left it out."""
    if record := snakemake.input.get("not_had"):
        reason: str = json.loads(Path(str(record)).read_text(encoding="utf-8"))["not_run"]
        return reason
    return "left out by `skip` in the configuration"
