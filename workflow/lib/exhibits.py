"""The tables and figures of each stage: names, captions and order, from its ``exhibits.yaml``.

::

    title: Learning with privileged information
    order: 40                 # of the stage, in the report
    outcomes: [accuracy]      # gathered CSVs that say which experiments were not run
    exhibits:                 # in the order of the report
      - file: tables/lupi.md
        label: accuracies     # what `snakemake --report` calls it
        caption: One or two sentences.
        when: timed           # optional: made only if this holds of the stage's settings
    files:                    # what else the report writes, and when: always, or as above
      tables/lupi.csv: always
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from workflow.lib.models import Stage

STAGES = Path(__file__).parents[1] / "stages"


class Exhibit(NamedTuple):
    """A table (.md) or a figure (.svg) of a run; ``file`` is relative to the run's directory."""

    file: str
    label: str
    caption: str
    when: str | None = None


class Exhibits(NamedTuple):
    """What a stage shows."""

    title: str
    order: int
    exhibits: list[Exhibit]
    outcomes: Sequence[str] = ()
    files: Mapping[str, str] = {}

    def of(self, settings: Stage) -> list[Exhibit]:
        """List the exhibits that a run with these settings makes; none if it omits the stage."""
        if not settings:
            return []
        return [each for each in self.exhibits if _holds(each.when, settings)]

    def further(self, settings: Stage) -> list[str]:
        """List what else the report of a run with these settings writes."""
        return [file for file, when in self.files.items() if _holds(when, settings)]


def _holds(when: str | None, settings: Stage) -> bool:
    """Tell whether what ``when`` names, an attribute or method of the settings, is true."""
    if when in (None, "always"):
        return True
    condition = getattr(settings, when)
    return bool(condition() if callable(condition) else condition)


@cache
def read_exhibits(stage: str) -> Exhibits:
    """Read ``exhibits.yaml`` of a stage."""
    file = STAGES / stage / "exhibits.yaml"
    found: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return Exhibits(**found | {"exhibits": [Exhibit(**each) for each in found["exhibits"]]})


@cache
def stage_names() -> list[str]:
    """List the stages, one for each folder with an ``exhibits.yaml``, in the report's order."""
    found = [file.parent.name for file in STAGES.glob("*/exhibits.yaml")]
    return sorted(found, key=lambda stage: read_exhibits(stage).order)
