"""The report: one HTML file that holds everything a run shows, to open anywhere."""

import base64
import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markdown_it import MarkdownIt

from workflow.lib.claims import VERDICTS, Finding, Judgement, files_of, judge, read_claims
from workflow.lib.claims_table import counts, dates, interval, shown_number
from workflow.lib.job import job
from workflow.lib.provenance import (
    checked,
    environment,
    is_rendering,
    read_csv,
    read_record,
    write_text,
)

# The report must not load anything: its policy forbids it, and no table has a picture.
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
_SIGNS = {"reproduced": "✓", "partly": "≈", "not reproduced": "✗", "undecided": "?"}
_RESULTS = {True: "holds ✓", False: "fails ✗", None: "open"}
# So that figures follow the page's colours, dark ones too.
_COLOURS = {
    "#000000": "currentColor",
    "#ffffff": "var(--paper)",
    "#dddddd": "var(--grid)",
    "#555555": "var(--grey)",
}


@dataclass(frozen=True)
class Exhibit:
    """A table (.md) or a figure (.svg) of a run.

    Attributes
    ----------
    path : Path
    label : str
        Its heading.
    caption : str
        What it shows.
    sentence : str
        What it says, computed by its stage; also the text for those who do not see a figure.
    headline : int or None
        Its place among the findings at the top of the page.
    leading : bool
        Whether it is shown there too.
    """

    path: Path
    label: str
    caption: str
    sentence: str = ""
    headline: int | None = None
    leading: bool = False


@dataclass(frozen=True)
class Section:
    """A part of the report: a stage, or the data.

    Attributes
    ----------
    name : str
        Anchor.
    title : str
    exhibits : sequence of Exhibit
    text, text_title : str
        Markdown behind the exhibits, folded, and what it is.
    """

    name: str
    title: str
    exhibits: Sequence[Exhibit] = ()
    text: str = ""
    text_title: str = ""


def write_page(
    path: str | PathLike[str],
    *,
    run: str,
    title: str,
    sections: Sequence[Section],
    judgements: Sequence[Judgement],
    standing_in: Collection[str],
    made: Mapping[str, str],
    made_by: Mapping[str, Any],
) -> None:
    """Write the report.

    Parameters
    ----------
    path : path
    run : str
        Name of the run.
    title : str
        Heading of a report that is not about the paper.
    sections : sequence of Section
    judgements : sequence of Judgement
        The claims ledger; none if nothing that the claims rest on was run.
    standing_in : collection of str
        Datasets of the run that stand in for the paper's.
    made : mapping
        When (``written``), from which ``commits`` and ``data``, in words.
    made_by : mapping
        Settings, versions and machine.
    """
    place = Path(path).parent
    script = _part("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    exhibits = [each for section in sections for each in section.exhibits]
    told = [each for each in exhibits if each.headline and each.sentence]
    first = sorted(told, key=lambda each: each.headline or 0)
    leading = list(dict.fromkeys(each.path.stem for each in first if each.leading))
    jinja = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    page = jinja.from_string(_part("page.html.jinja")).render(
        run=run,
        title=title,
        answer=counts(judgements),
        sections=[_rendered(section, place, leading) for section in sections],
        headlines=[{"sentence": each.sentence, "id": _id(each)} for each in first],
        leading=[
            group
            for stem in leading
            for group in _grouped([each for each in exhibits if each.path.stem == stem], place)
        ],
        claims=[_claim(judgement, place) for judgement in judgements],
        counts=[
            {
                "verdict": verdict,
                "kind": verdict.replace(" ", "-"),
                "number": sum(judgement.verdict == verdict for judgement in judgements),
            }
            for verdict in VERDICTS
        ],
        standing_in=sorted(standing_in),
        made=made,
        made_by=json.dumps(made_by, indent=1, sort_keys=True, ensure_ascii=False),
        style=_part("page.css"),
        script=script,
        script_hash=digest,
    )
    write_text(path, page.lstrip())


def _part(name: str) -> str:
    return files("workflow.lib").joinpath(name).read_text(encoding="utf-8")


def markdown(text: str) -> str:
    """Render Markdown as HTML; each table in a box that scrolls by itself, by keyboard too."""
    rendered: str = _MARKDOWN.render(text)
    box = '<div class="scroll" tabindex="0" role="region" aria-label="table">'
    rendered = rendered.replace("<table>", f"{box}<table>").replace("</table>", "</table></div>")
    return rendered.replace("<th", '<th scope="col"').replace('<th scope="col"ead', "<thead")


def inline_svg(svg: str, name: str, alternative: str) -> str:
    """Make an SVG file part of a page: ids of its own, the page's colours, a text instead of it."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r'\bid="', f'id="{name}-', body)
    body = re.sub(r"url\(#", f"url(#{name}-", body)
    body = re.sub(r'href="#', f'href="#{name}-', body)
    for colour, variable in _COLOURS.items():
        body = body.replace(colour, variable)
    label = alternative.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return body.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)


def _rendered(section: Section, place: Path, leading: Collection[str]) -> dict[str, Any]:
    # A document's own title gives way to the section's, its headings stand below that.
    body = re.sub(r"\A# .*\n", "", section.text)
    return {
        "name": section.name,
        "title": section.title,
        "exhibits": _grouped(
            [each for each in section.exhibits if each.path.stem not in leading], place
        ),
        "text": markdown(re.sub(r"^(#+ )", r"#\1", body, flags=re.MULTILINE)),
        "text_title": section.text_title,
    }


def _id(exhibit: Exhibit) -> str:
    return f"exhibit-{exhibit.path.stem}"


def _grouped(exhibits: Sequence[Exhibit], place: Path) -> list[dict[str, Any]]:
    """Lay out exhibits; a table of the same name stands folded below its figure."""
    found: dict[str, dict[str, Any]] = {}
    for each in sorted(exhibits, key=lambda each: each.path.suffix != ".svg"):
        content = found.setdefault(each.path.stem, {"id": _id(each), "label": each.label})
        text = checked(each.path).decode()
        if each.path.suffix == ".svg":
            alternative = each.sentence or each.caption
            content["svg"] = inline_svg(text, each.path.stem, alternative)
            content["caption"] = each.caption
        else:
            content |= {"table": markdown(text), "table_caption": each.caption}
        content["sentence"] = content.get("sentence") or each.sentence
        content["csv"] = _link(each.path, place)
    order = dict.fromkeys(each.path.stem for each in exhibits)
    return [found[stem] for stem in order]


def _link(path: Path, place: Path) -> str | None:
    """Return the CSV behind an exhibit, as seen from the report; None if there is none."""
    beside = path.with_suffix(".csv")
    csv = beside if beside.is_file() else place / "tables" / f"{path.stem}.csv"
    return csv.relative_to(place).as_posix() if csv.is_file() else None


def _claim(judgement: Judgement, place: Path) -> dict[str, Any]:
    found = judgement.findings
    named = {finding.csv for finding in found} | {finding.figure for finding in found}
    return {
        **judgement.claim,
        "verdict": judgement.verdict,
        "kind": judgement.verdict.replace(" ", "-"),
        "sign": _SIGNS.get(judgement.verdict, "–"),
        "held": judgement.held.removeprefix("held "),
        "this_run": shown_number(found[0].value) if found else "",
        "note": f"{'Not in the paper. ' if judgement.is_ours else ''}{dates(judgement)}",
        "findings": [_finding(each) for each in found],
        "missing": judgement.missing,
        "files": sorted(file for file in named if file and (place / file).is_file()),
    }


def _finding(finding: Finding) -> dict[str, str]:
    return {
        "about": finding.about,
        "data": finding.data + (" (a stand-in)" if finding.stand_in else ""),
        "value": shown_number(finding.value),
        "interval": interval(finding),
        "rule": finding.rule,
        "result": _RESULTS[finding.holds],
    }


def _without_the_paper(section: Section) -> Section:
    """Leave out those sentences of captions that are about the paper."""
    exhibits = []
    for each in section.exhibits:
        parts = re.split(r"(?<=[.;]) ", each.caption)
        own = " ".join(
            part for part in parts if not re.search("paper|published|Table 1|docs/", part)
        )
        exhibits.append(replace(each, caption=re.sub(";$", ".", own)))
    return replace(section, exhibits=exhibits)


def _commits(results: Path) -> str:
    """Say which commits the run's numbers were computed by."""
    records = [read_record(file) for file in results.glob("*/*.csv")]
    records += [read_record(file) for file in results.glob("*/*/*.csv")]
    found = {
        str(record["environment"]["commit"] or "unversioned code")[:7]
        + ("" if "+" not in str(record["environment"]["commit"]) else " with changes")
        for record in records
        if not is_rendering(record)
    }
    return ", ".join(sorted(found)) or "no commit"


if __name__ == "__main__":
    with job(snakemake) as asked:
        given, results = snakemake.input, Path(snakemake.output[0]).parent
        said = {
            exhibit: str(sentence)
            for file in given.get("sentences", [])
            for exhibit, sentence in read_csv(file)[["exhibit", "sentence"]].to_numpy()
        }
        sections = [
            Section(
                part["name"],
                part["title"],
                [
                    Exhibit(results / file, sentence=said.get(file, ""), **each)
                    for file, each in part["exhibits"].items()
                ],
            )
            for part in asked.sections
        ]
        judgements = judge(read_claims(given.claims), results, files=files_of(given, results))
        if not any(judgement.findings for judgement in judgements):
            judgements = []  # as in a run on the user's own data
            sections = [_without_the_paper(section) for section in sections]
        elif bounds := [each for each in sections if each.name == "bounds"]:
            theory = Path(given.theory).read_text(encoding="utf-8")
            told = replace(bounds[0], text=theory, text_title="What the theorems say, and proofs")
            sections[sections.index(bounds[0])] = told
        data = Exhibit(Path(given.data), "Datasets", "The datasets of this run and their terms.")
        write_page(
            snakemake.output[0],
            run=asked.run,
            title=asked.title,
            sections=[*sections, Section("data", "Data", [data])],
            judgements=judgements,
            standing_in=asked.stand_ins,
            made={
                "written": datetime.now(UTC).strftime("%d %B %Y"),
                "commits": _commits(results),
                "data": ", ".join(asked.data),
            },
            made_by={"settings": asked.config, "environment": environment()},
        )
