"""The report: one HTML file that holds everything a run shows, to open anywhere."""

import base64
import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markdown_it import MarkdownIt

from workflow.lib.claims import VERDICTS, Judgement, judge, read_claims
from workflow.lib.claims_table import dates, divided, sentence, verdict
from workflow.lib.job import job
from workflow.lib.provenance import checked, environment, write_text

_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")


@dataclass(frozen=True)
class Exhibit:
    """A table (.md) or a figure (.svg) of a run.

    Attributes
    ----------
    path : Path
    caption : str
        What it shows; also the text for those who do not see a figure.
    """

    path: Path
    caption: str

    @property
    def is_figure(self) -> bool:
        """Whether it is a figure."""
        return self.path.suffix == ".svg"


@dataclass(frozen=True)
class Section:
    """A part of the report: a stage, or the data.

    Attributes
    ----------
    name : str
        Anchor.
    title : str
    exhibits : sequence of Exhibit
    text : str
        Markdown before the exhibits.
    """

    name: str
    title: str
    exhibits: Sequence[Exhibit] = ()
    text: str = ""


def write_page(
    path: str | PathLike[str],
    *,
    run: str,
    sections: Sequence[Section],
    judgements: Sequence[Judgement],
    standing_in: Collection[str],
    made_by: Mapping[str, Any],
) -> None:
    """Write the report.

    Parameters
    ----------
    path : path
    run : str
        Name of the run.
    sections : sequence of Section
    judgements : sequence of Judgement
        The claims ledger; none if nothing that the claims rest on was run.
    standing_in : collection of str
        Datasets of the run that stand in for the paper's.
    made_by : mapping
        Settings, versions and machine.
    """
    place = Path(path).parent
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(
        files("workflow.lib").joinpath("page.html.jinja").read_text(encoding="utf-8")
    )
    page = template.render(
        run=run,
        sections=[_rendered(section, place) for section in sections],
        ledger=[
            {
                "title": what,
                "counts": Counter(judgement.verdict for judgement in those),
                "claims": [_claim(judgement, place) for judgement in those],
            }
            for what, those in divided(judgements).items()
            if those
        ],
        verdicts=VERDICTS,
        standing_in=sorted(standing_in),
        made_by=json.dumps(made_by, indent=1, sort_keys=True, ensure_ascii=False),
    )
    write_text(path, page)


def markdown(text: str) -> str:
    """Render Markdown as HTML; each table in a box that scrolls by itself, by keyboard too."""
    rendered: str = _MARKDOWN.render(text)
    box = '<div class="scroll" tabindex="0" role="region" aria-label="table">'
    return rendered.replace("<table>", f"{box}<table>").replace("</table>", "</table></div>")


def _rendered(section: Section, place: Path) -> dict[str, Any]:
    # A document's own title gives way to the section's, its headings stand below that.
    body = re.sub(r"\A# .*\n", "", section.text)
    return {
        "name": section.name,
        "title": section.title,
        "text": markdown(re.sub(r"^(#+ )", r"#\1", body, flags=re.MULTILINE)),
        "exhibits": [_exhibit(exhibit, place) for exhibit in section.exhibits],
    }


def _exhibit(exhibit: Exhibit, place: Path) -> dict[str, Any]:
    content: dict[str, Any] = {"caption": exhibit.caption, "csv": _link(exhibit.path, place)}
    if exhibit.is_figure:
        encoded = base64.b64encode(checked(exhibit.path)).decode("ascii")
        return content | {"image": f"data:image/svg+xml;base64,{encoded}"}
    return content | {"table": markdown(checked(exhibit.path).decode())}


def _link(path: Path, place: Path) -> str | None:
    """Return the CSV behind an exhibit, as seen from the report; None if there is none."""
    beside = path.with_suffix(".csv")
    csv = beside if beside.is_file() else place / "tables" / f"{path.stem}.csv"
    return csv.relative_to(place).as_posix() if csv.is_file() else None


def _claim(judgement: Judgement, place: Path) -> dict[str, Any]:
    figures = {finding.figure for finding in judgement.findings if finding.figure}
    return {
        **judgement.claim,
        "verdict": verdict(judgement),
        "written": dates(judgement),
        "kind": judgement.verdict.replace(" ", "-"),
        "findings": [markdown(sentence(each)) for each in judgement.findings],
        "missing": judgement.missing,
        "csvs": sorted({finding.csv for finding in judgement.findings}),
        "figures": sorted(figure for figure in figures if (place / figure).is_file()),
    }


if __name__ == "__main__":
    with job(snakemake) as asked:
        given, results = snakemake.input, Path(snakemake.output[0]).parent
        sections = [
            Section(
                part["name"],
                part["title"],
                [Exhibit(results / each["file"], each["caption"]) for each in part["exhibits"]],
            )
            for part in asked.sections
        ]
        judgements = judge(read_claims(given.claims), results)
        if not any(judgement.findings for judgement in judgements):
            judgements = []  # as in a run on the user's own data
        else:
            theory = Path(given.theory).read_text(encoding="utf-8")
            sections.append(Section("theory", "Theory", text=theory))
        data = Exhibit(Path(given.data), "The datasets of this run.")
        write_page(
            snakemake.output[0],
            run=asked.run,
            sections=[*sections, Section("data", "Data", [data])],
            judgements=judgements,
            standing_in=asked.stand_ins,
            made_by={"settings": asked.config, "environment": environment()},
        )
