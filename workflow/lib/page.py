"""The report: one HTML file that holds everything a run shows, to open anywhere."""

import base64
import hashlib
import html
import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

from docutils.utils.math.latex2mathml import tex2mathml
from jinja2 import Environment
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from workflow.lib.chart import has_marks, inline
from workflow.lib.claims import (
    KEY,
    RESULTS,
    SIGNS,
    Finding,
    Judgement,
    Verdict,
    dates,
    files_of,
    interval,
    judge,
    read_claims,
    shown_number,
)
from workflow.lib.job import job
from workflow.lib.provenance import (
    checked,
    environment,
    is_rendering,
    read_csv,
    read_record,
    write_text,
)


@dataclass(frozen=True)
class Exhibit:
    """A table (.md) or a figure (.svg) of a run."""

    path: Path
    label: str
    caption: str
    sentence: str = ""  # what it says; also the text for those who do not see a figure
    headline: int | None = None  # its place among the findings
    leading: bool = False  # whether a figure stands at the top instead of in its section

    @property
    def heading(self) -> str:
        """The label that a figure and the table of its name share."""
        return re.sub("[,:] (figure|table)$", "", self.label)

    @property
    def id(self) -> str:
        """Anchor, of a figure and of the table of its name."""
        return f"exhibit-{self.path.stem}"

    @property
    def is_figure(self) -> bool:
        """Whether it is a figure, not a table."""
        return self.path.suffix == ".svg"


@dataclass(frozen=True)
class Section:
    """A part of the report: a stage, or the data; not shown without exhibits."""

    name: str
    title: str
    exhibits: Sequence[Exhibit] = ()
    files: Collection[str] = ()  # all exhibits that its stage can make: claims on them belong here
    texts: Mapping[str, str] = field(default_factory=dict)  # Markdown by title, shown folded


def write_page(
    path: str | PathLike[str],
    *,
    run: str,
    title: str,
    sections: Sequence[Section],
    data: Section,
    judgements: Sequence[Judgement],
    standing_in: Collection[str],
    made: Mapping[str, str],
    made_by: Mapping[str, Any],
) -> None:
    """Write the report; without judgements it is not about the paper, and has the title given.

    ``standing_in`` are datasets of the run that stand in for the paper's. ``made`` says in words
    when it was ``written``, from which ``commits`` and ``data``; ``made_by`` has settings, versions
    and machine.
    """
    place = Path(path).parent
    sections = [replace(each, exhibits=[*filter(_is_drawn, each.exhibits)]) for each in sections]
    script = _part("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    exhibits = [each for section in sections for each in section.exhibits]
    exhibits.sort(key=lambda each: each.headline or 0)
    top = [each for each in exhibits if each.leading and each.is_figure]
    # They answer the question of a page about the paper.
    answers = [each for each in top if each.sentence] if judgements else []
    told = [each for each in exhibits if each.headline and each.sentence and each not in answers]
    jinja = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    jinja.filters["typeset"] = typeset
    page = jinja.from_string(_part("page.html.jinja")).render(
        run=run,
        title=title,
        answers=[answer(judgements), *[each.sentence for each in answers]],
        counts={
            whose: Counter(each.verdict for each in judgements if each.is_ours == is_ours)
            for whose, is_ours in (("paper", False), ("ours", True))
        },
        signs=SIGNS,
        topics=_topics(judgements, sections, place),
        standing_in=sorted(standing_in),
        top=_grouped(top, place),
        key=KEY,
        findings=[{"sentence": each.sentence, "id": each.id} for each in told],
        sections=[_rendered(section, place) for section in sections if section.exhibits],
        data=_rendered(data, place),
        made=made,
        made_by=json.dumps(made_by, indent=1, sort_keys=True, ensure_ascii=False),
        style=_part("figures.css") + _part("page.css"),
        script=script,
        script_hash=digest,
    )
    write_text(path, page.lstrip())


def _part(name: str) -> str:
    return files("workflow.lib").joinpath(name).read_text(encoding="utf-8")


def typeset(text: str) -> str:
    """Write plain text as HTML, with minus signs and raised exponents."""
    signed = re.sub(r"(?<![\w.-])-(?=\d)", "−", html.escape(text))
    return re.sub(r"\^(−?\d+(?:[./]\d+)*)", r"<sup>\1</sup>", signed)


class _Renderer(RendererHTML):
    def text(self, tokens: Sequence[Token], i: int, *_: Any) -> str:
        return typeset(tokens[i].content)

    def fence(self, tokens: Sequence[Token], i: int, *rest: Any) -> str:
        if tokens[i].info.strip() != "math":
            return super().fence(tokens, i, *rest)
        box = '<div class="scroll" tabindex="0" role="region" aria-label="formula">'
        return f"{box}{tex2mathml(tokens[i].content, as_block=True)}</div>"


# The report must not load anything: its policy forbids it, and no table has a picture.
_MARKDOWN = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer)
_MARKDOWN.enable("table").disable("image")
_TABLE = re.compile(r"(?:<p>((?:(?!</p>).)*)</p>\n)?<table>(.*?)</table>", flags=re.DOTALL)


def markdown(text: str, caption: str = "") -> str:
    """Render Markdown as HTML, each table in a box that scrolls by itself, by keyboard too.

    The paragraph before a table is its caption, or else the one given; the first cell of a row is
    the row's header.
    """

    def boxed(found: re.Match[str]) -> str:
        # The name before a colon stands in a line of its own.
        above = (found[1] or "").replace("</strong>:", "</strong>", 1)
        above = f"<caption>{above}</caption>" if above else ""
        if caption and not above:
            above = f'<caption class="unseen">{html.escape(caption)}</caption>'
        body = re.sub(r"<th\b", '<th scope="col"', found[2])
        body = re.sub(r"<tr>\n<td(.*?)</td>", r'<tr>\n<th scope="row"\1</th>', body)
        return (
            '<div class="scroll" tabindex="0" role="region" aria-label="table">'
            f"<table>{above}{body}</table></div>"
        )

    return _TABLE.sub(boxed, _MARKDOWN.render(text))


def _is_drawn(exhibit: Exhibit) -> bool:
    """Tell whether an exhibit has content; a figure has none if no experiment of it was run."""
    return not exhibit.is_figure or has_marks(checked(exhibit.path).decode())


def _rendered(section: Section, place: Path) -> dict[str, Any]:
    leading = {each.path.stem for each in section.exhibits if each.leading}
    own = [each for each in section.exhibits if not (each.is_figure and each.leading)]
    exhibits = _grouped(own, place)
    for each in exhibits:
        if each["id"].removeprefix("exhibit-") in leading:
            each |= {"id": f"table-{each['id']}", "figure": each["id"]}
    texts = {}
    for title, text in section.texts.items():
        # A document's own title gives way to the section's, its headings stand below that.
        below = re.sub(r"^(#+ )", r"#\1", re.sub(r"\A# .*\n", "", text), flags=re.MULTILINE)
        texts[title] = markdown(below)
    return {"name": section.name, "title": section.title, "exhibits": exhibits, "texts": texts}


def _grouped(exhibits: Sequence[Exhibit], place: Path) -> list[dict[str, Any]]:
    """Lay out exhibits; a table of the same name stands folded below its figure."""
    found: dict[str, dict[str, Any]] = {each.path.stem: {} for each in exhibits}
    for each in sorted(exhibits, key=lambda each: not each.is_figure):
        content = found[each.path.stem]
        text = checked(each.path).decode()
        content |= {"id": each.id, "label": each.heading, "sentence": each.sentence} | content
        if each.is_figure:
            content["svg"] = _both_widths(each, text)
            content["caption"] = each.caption
        else:
            content |= {"table": markdown(text, each.heading), "table_caption": each.caption}
        csv = f"tables/{each.path.stem}.csv"
        content["csv"] = csv if (place / csv).is_file() else None
    return list(found.values())


def _both_widths(figure: Exhibit, wide: str) -> str:
    """Put a figure and its narrow form one after the other; the style shows one of them."""
    narrow = checked(figure.path.with_stem(f"{figure.path.stem}-narrow")).decode()
    forms = {"on-wide": wide, "on-narrow": narrow}
    said = figure.sentence or figure.caption
    return "\n".join(
        f'<div class="{kind}">{inline(svg, said)}</div>' for kind, svg in forms.items()
    )


def answer(judgements: Sequence[Judgement]) -> str:
    """Answer the question of the page from the verdicts on the paper's claims.

    It can be answered if half of them were tested; "mostly" is half of those tested or more.
    """
    found = Counter(each.verdict for each in judgements if not each.is_ours)
    asked, held = found.total(), found[Verdict.REPRODUCED]
    tested = asked - found[Verdict.STAND_IN] - found[Verdict.NOT_RUN]
    if 2 * tested < asked:
        return f"This run cannot tell: it tests {tested} of the paper's {asked} claims."
    word = "Yes" if held == tested else "Mostly" if 2 * held >= tested else "Partly"
    word = word if held else "No"
    rest = [f", {found[each]} {each}" for each in Verdict if found[each] and each != "reproduced"]
    return f"{word}: {held} of the paper's {asked} claims reproduced{''.join(rest)}."


def _topics(
    judgements: Sequence[Judgement], sections: Sequence[Section], place: Path
) -> list[dict[str, Any]]:
    """Group the claims by the section of their evidence, the paper's before ours."""
    shown = {
        each.path.stem: {"id": each.id, "label": each.heading}
        for section in sections
        for each in section.exhibits
    }
    claims: dict[str, list[Any]] = {section.name: [] for section in sections} | {"": []}
    for judgement in sorted(judgements, key=lambda each: each.is_ours):
        claims[_section(judgement, sections)].append(_claim(judgement, shown, place))
    topics = [
        {
            "title": each.title,
            "name": each.name if each.exhibits else "",
            "claims": claims[each.name],
        }
        for each in sections
    ]
    topics.append({"title": "Other", "name": "", "claims": claims[""]})
    return [topic for topic in topics if topic["claims"]]


def _section(judgement: Judgement, sections: Sequence[Section]) -> str:
    """Return the section that shows the first rule's evidence, by its figure or the CSV's name."""
    rules = judgement.claim["rules"][:1]
    evidence = {file for rule in rules for file in (rule.get("figure", ""), rule["csv"])}
    names = {Path(file).parent.name for file in evidence}
    names |= {Path(file).stem.partition("_")[0] for file in evidence}
    for section in sections:
        if section.name in names or evidence & set(section.files):
            return section.name
    return ""


def _claim(
    judgement: Judgement, shown: Mapping[str, Mapping[str, str]], place: Path
) -> dict[str, Any]:
    found = judgement.findings
    csvs, figures = ({getattr(each, kind) for each in found} for kind in ("csv", "figure"))
    stems = dict.fromkeys(Path(file).stem for file in sorted(csvs | figures))
    return {
        **judgement.claim,
        "verdict": judgement.verdict,
        "found": _found(judgement),
        "held": judgement.held_of.removeprefix("held "),
        "this_run": _ends(found),
        "note": f"{'Not in the paper. ' if judgement.is_ours else ''}{dates(judgement)}",
        "findings": [_finding(each) for each in found],
        "missing": judgement.missing,
        "exhibits": [shown[stem] for stem in stems if stem in shown],
        "files": [file for file in sorted(csvs) if (place / file).is_file()],
    }


def _found(judgement: Judgement) -> str:
    """Say what the first rule found, and what it asks for."""
    for rule in judgement.claim["rules"]:
        found = [each for each in judgement.findings if each.about.startswith(rule["about"])]
        if found:
            return f"{rule['about']}: {_ends(found)} (rule: {found[0].rule})"
    return ""


def _ends(findings: Sequence[Finding]) -> str:
    """Write the least and the largest of the values, or the one that both are written as."""
    values = [each.value for each in findings]
    ends = [min(values), max(values)] if values else []
    return " to ".join(dict.fromkeys(map(shown_number, ends)))


def _finding(finding: Finding) -> dict[str, str]:
    data = finding.data + (" (stand-in)" if finding.stand_in else "")
    spread = interval(finding)
    return {
        "about": " · ".join(filter(None, [finding.about, data])),
        "value": shown_number(finding.value) + (f" ({spread})" if spread else ""),
        "rule": finding.rule,
        "result": RESULTS[finding.holds],
    }


def _without_the_paper(section: Section) -> Section:
    """Leave out what titles and captions say of the paper."""
    exhibits = []
    for each in section.exhibits:
        parts = re.split(r"(?<=[.;]) ", each.caption)
        own = [part for part in parts if not re.search("paper|published|Table 1|docs/", part)]
        exhibits.append(replace(each, caption=re.sub(";$", ".", " ".join(own))))
    return replace(section, title=section.title.removesuffix(" (Table 1)"), exhibits=exhibits)


def _excerpt(document: str, heading: str) -> str:
    """Return what a page of docs/ has below a heading, without links to other pages."""
    text = document.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.sub(r"\[[^]]+\]\((\w[\w-]*\.md)\)", r"`docs/\1`", text)


def _commits(results: Path) -> str:
    """Say which commits the run's numbers were computed by."""
    found = set()
    for file in (*results.glob("*/*.csv.json"), *results.glob("*/*/*.csv.json")):
        record = read_record(file.with_suffix(""))
        if not is_rendering(record):
            commit, _, changes = (record["environment"]["commit"] or "").partition("+")
            found.add((commit[:7] or "unversioned code") + (" with changes" if changes else ""))
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
                part["files"],
            )
            for part in asked.sections
        ]
        datasets = Exhibit(
            Path(given.data), "Datasets", "The datasets of this run and their terms."
        )
        data = Section("data", "Data", [datasets])
        judgements = judge(read_claims(given.claims), results, files=files_of(given, results))
        if any(judgement.findings for judgement in judgements):
            theory, reproduce = (
                Path(file).read_text(encoding="utf-8") for file in (given.theory, given.reproduce)
            )
            proofs = {"What the theorems say, and proofs": theory}
            sections = [
                replace(each, texts=proofs) if each.name == "bounds" else each for each in sections
            ]
            heading = "Where it deviates from the paper"
            data = replace(data, texts={heading: _excerpt(reproduce, heading)})
        else:
            judgements = []  # as in a run on the user's own data
            sections = [_without_the_paper(section) for section in sections]
        write_page(
            snakemake.output[0],
            run=asked.run,
            title=asked.title,
            sections=sections,
            data=data,
            judgements=judgements,
            standing_in=asked.stand_ins,
            made={
                "written": datetime.now(UTC).strftime("%d %B %Y"),
                "commits": _commits(results),
                "data": ", ".join(asked.data),
            },
            made_by={"settings": asked.config, "environment": environment()},
        )
