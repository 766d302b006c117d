"""What the report shows: the exhibits of each stage, with their captions."""

from pathlib import Path
from typing import Any

from workflow.data.catalogue import CATALOGUE
from workflow.plan.stage import Stage

CAPTIONS = Path(__file__).parents[1] / "report"


def sections(stages: dict[str, Stage]) -> list[dict[str, Any]]:
    """Return name, title and exhibits (path and caption) of each stage that has any."""
    return [
        {
            "name": name,
            "title": stage.title,
            "exhibits": [{"path": file, "caption": caption(file)} for file in exhibits(stage)],
        }
        for name, stage in stages.items()
        if stage.outputs()
    ]


def exhibits(stage: Stage) -> list[str]:
    """List the tables and figures among the outputs of a stage."""
    return [file for file in stage.outputs() if Path(file).suffix in (".md", ".svg")]


def caption(file: str) -> str:
    """Return the caption of a table or figure: that of its kind, or of its name alone."""
    kind = "table" if file.endswith(".md") else "figure"
    stem = Path(file).stem
    for name in (f"{stem}_{kind}.rst", f"{stem}.rst"):
        if (CAPTIONS / name).is_file():
            return (CAPTIONS / name).read_text(encoding="utf-8").strip()
    raise FileNotFoundError(f"{file} has no caption: write {CAPTIONS / f'{stem}_{kind}.rst'}")


def standing_in(datasets: list[str]) -> list[str]:
    """List the datasets that stand in for the paper's: all, in a run that fetches none."""
    embedded = [name for name in datasets if name in CATALOGUE and CATALOGUE[name].source is None]
    return embedded if set(datasets) == set(embedded) else []
