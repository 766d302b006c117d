"""The report: one HTML file that tells what a run found, to open anywhere.

An article with an appendix about the paper; a shorter page for a run on data that stand in for the
paper's, and for one on the user's own data.
"""

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from docutils.utils.math.latex2mathml import tex2mathml
from jinja2 import Environment
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from workflow.lib.chart import has_marks, inline
from workflow.lib.claims import KEY, SIGNS, Verdict
from workflow.lib.job import job
from workflow.lib.prose import known, read_numbers, tell, templates
from workflow.lib.provenance import checked, environment, is_rendering, read_record, write_text

_FIRST = ("rcca", "rcca_speakers")
_WIDTH, _HEIGHT, _ROW = 170, 24, 4  # of the picture of a claim's findings


def write_page(
    path: str | Path,
    *,
    run: str,
    title: str,
    stages: Sequence[Mapping[str, Any]],
    data: Mapping[str, Any],
    ledger: Mapping[str, Any],
    numbers: Mapping[str, Any],
    standing_in: Sequence[str],
    made: Mapping[str, str],
    made_by: Mapping[str, Any],
    texts: Mapping[str, str],
) -> None:
    """Write the report of the files of ``stages``; each has a name, a title and its exhibits.

    ``ledger`` is the content of ``claims.json``. ``made`` says in words when the report was
    ``written``, from which ``commits`` and ``data``; ``made_by`` has settings, versions and
    machine. ``texts`` are the theory and the deviations, in Markdown.
    """
    kind = kind_of(ledger)
    names = known(numbers, ledger, standing_in)
    said = tell(names)
    place = Path(path).parent
    laid = [_stage(stage, said, place, is_own=kind == "own") for stage in stages]
    figures = {figure["stem"]: figure for stage in laid for figure in stage["figures"]}
    claims = _claims(ledger, figures)
    sections = [*_sections(said, figures, claims, place)] if kind == "paper" else []
    proofs = {"What the theorems say, and proofs": markdown(texts["theory"])}
    used = {stem for section in sections for stem in (each["stem"] for each in section["figures"])}
    wanted = {"paper": _FIRST, "own": ("rcca_model",)}.get(kind, ())
    first = [figures[stem] for stem in wanted if stem in figures]
    used |= {figure["stem"] for figure in first}
    for stage in laid:
        stage["figures"] = [each for each in stage["figures"] if each["stem"] not in used]
        stage["texts"] = proofs if kind == "paper" and stage["name"] == "bounds" else {}
    heading, deck = _opening(kind, said, title)
    script, style = _part("page.js"), _part("figures.css") + _part("page.css")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    jinja = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    jinja.filters["typeset"] = typeset
    page = jinja.from_string(_part("page.html.jinja")).render(
        kind=kind,
        heading=heading,
        deck=deck,
        counts=names["counts"],
        signs={str(verdict): sign for verdict, sign in SIGNS.items()},
        key=KEY,
        first=first,
        sections=sections,
        claims=claims,
        stages=[stage for stage in laid if stage["figures"] or stage["tables"]],
        data=data,
        deviations=markdown(texts["deviations"]) if kind == "paper" else "",
        run=run,
        made=made,
        made_by=json.dumps(made_by, indent=1, sort_keys=True, ensure_ascii=False),
        style=style + "".join(_switches(figure) for figure in figures.values()),
        script=script,
        script_hash=digest,
    )
    write_text(path, page.lstrip())


def kind_of(ledger: Mapping[str, Any]) -> str:
    """Tell a run on the paper's data from one on stand-ins (embedded) and on the user's own.

    It is about the paper if more of its claims are tested on the paper's data than on stand-ins.
    """
    verdicts = [claim["verdict"] for claim in ledger["claims"]]
    if all(verdict == Verdict.NOT_RUN for verdict in verdicts):
        return "own"
    tested = sum(v in (Verdict.REPRODUCED, Verdict.FAILED, Verdict.UNDECIDED) for v in verdicts)
    return "paper" if tested > verdicts.count(Verdict.STAND_IN) else "embedded"


def _opening(kind: str, said: Mapping[str, str], title: str) -> tuple[str, str]:
    """Return the heading, and below it what answers it, as HTML."""
    if kind == "paper":
        names = ("answer-images", "answer-speech", "answer-claims")
        answers = [said[name] for name in names if name in said]
        return said["question"], _MARKDOWN.renderInline(" ".join(answers))
    heading = said.get(f"{kind}-heading", title)
    return heading, typeset(said.get(f"{kind}-text", ""))


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


def _stage(
    stage: Mapping[str, Any], said: Mapping[str, str], place: Path, *, is_own: bool
) -> dict[str, Any]:
    """Lay out the exhibits of a stage that have content, apart for figures and tables."""
    title = re.sub(r" \(Table \d+\)$", "", stage["title"]) if is_own else stage["title"]
    found: dict[str, Any] = {"name": stage["name"], "title": title}
    found |= {"figures": [], "tables": []}
    for file, exhibit in stage["exhibits"].items():
        stem, caption = Path(file).stem, str(exhibit["caption"])
        caption = _without_the_paper(caption) if is_own else caption
        label = re.sub("[,:] (figure|table)$", "", exhibit["label"])
        common: dict[str, Any] = {"stem": stem, "label": label, "caption": caption}
        if file.endswith(".md"):
            found["tables"].append(common | _table(place / file, stem, label))
        elif has_marks(wide := checked(place / file).decode()):
            heading = said.get(stem, label)
            narrow = checked((place / file).with_stem(f"{stem}-narrow")).decode()
            groups = re.findall(r'<g class="state ([\w-]+)[^>]*data-name="([^"]*)"', wide)
            states = {state: html.unescape(name) for state, name in groups}
            common |= {"id": f"exhibit-{stem}", "title": heading, "states": states}
            for form, svg in (("wide", wide), ("narrow", narrow)):
                common[form] = inline(svg, f"{heading}. {caption}")
            found["figures"].append(common)
    return found


def _table(path: Path, stem: str, label: str) -> dict[str, Any]:
    csv = path.with_suffix(".csv")
    return {
        "id": f"table-{stem}",
        "html": markdown(checked(path).decode(), label),
        "csv": f"tables/{csv.name}" if csv.is_file() else None,
    }


def _switches(figure: Mapping[str, Any]) -> str:
    """Return the style with which the switch of a figure works without a script."""
    rules = []
    for state in figure["states"]:
        chosen = f'#{figure["id"]}:has([value="{state}"]:checked)'
        others = f"{chosen} .state:not(.{state})"
        rules += [
            f"{chosen} .state.{state} {{ opacity: 1; display: inline; }}",
            f"{chosen} .state.{state} text {{ display: inline; }}",
            f"{others} {{ opacity: .15; }}",
            f"{others} text, {others}.flip {{ display: none; }}",
        ]
    return "".join(f"{rule}\n" for rule in rules)


def _sections(
    said: Mapping[str, str],
    figures: Mapping[str, Any],
    claims: Iterable[Mapping[str, Any]],
    place: Path,
) -> Iterable[dict[str, Any]]:
    """Lay out the sections of the article that have something to say."""
    for section in templates()["sections"]:
        name = section["id"]
        if f"{name}-heading" not in said or f"{name}-text" not in said:
            continue
        csvs = [f"tables/{stem}.csv" for stem in (section["numbers"],)]
        yield {
            **{key: section[key] for key in ("id", "question")},
            **{part: said.get(f"{name}-{part}", "") for part in ("heading", "text", "caveat")},
            "figures": [figures[stem] for stem in section["figures"] if stem in figures],
            "claims": sum(each["section"] == name and not each["ours"] for each in claims),
            "numbers": f"table-{section['numbers']}",
            "csvs": [csv for csv in csvs if (place / csv).is_file()],
        }


def _claims(ledger: Mapping[str, Any], figures: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Lay out the claims, each with its section and a picture of its findings."""
    sections = {
        stem: section["id"] for section in templates()["sections"] for stem in section["evidence"]
    }
    laid = []
    for claim in ledger["claims"]:
        findings = [each | {"about": _about(each)} for each in claim["findings"]]
        named = [Path(each[kind]).stem for each in findings for kind in ("figure", "csv")]
        section = next((sections[stem] for stem in named if stem in sections), "")
        evidence = next((figures[stem]["id"] for stem in named if stem in figures), "")
        rules = list(dict.fromkeys(each["rule"] for each in findings))
        of_first = [each for each in findings if each["rule"] == rules[0]]
        more = f", and {len(rules) - 1} more" if len(rules) > 1 else ""
        laid.append(
            {
                **claim,
                "findings": findings,
                "kind": claim["verdict"].replace(" ", "-"),
                "section": section,
                "evidence": evidence,
                "rule": rules[0] + more if rules else "",
                "spark": spark(of_first) if rules else "",
            }
        )
    return laid


def _about(finding: Mapping[str, Any]) -> str:
    data = finding["data"] + (" (stand-in)" if finding["stand_in"] else "")
    return " · ".join(filter(None, [finding["about"], data, finding["note"]]))


def spark(findings: Sequence[Mapping[str, Any]]) -> str:
    """Draw findings of one rule as dots with intervals on the band where the rule wants them."""
    least, most = (findings[0][key] for key in ("at_least", "at_most"))
    ends = [value for value in (least, most) if value is not None]
    ends += [finding["value"] for finding in findings]
    low, high = min(ends), max(ends)
    pad = (high - low) * 0.12 or 1.0
    low, high = low - pad, high + pad

    def at(value: float | None, default: float) -> float:
        place = default if value is None else (value - low) / (high - low) * _WIDTH
        return float(np.clip(place, 0, _WIDTH))

    step = min(_ROW, (_HEIGHT - 6) / max(len(findings) - 1, 1))
    top = (_HEIGHT - step * (len(findings) - 1)) / 2
    start, stop = at(least, 0) - (least == most), at(most, _WIDTH) + (least == most)
    size = f'width="{stop - start:.1f}" height="{_HEIGHT}"'
    parts = [f'<rect x="{start:.1f}" {size} fill="var(--band)"/>']
    looks = {True: "good", False: "bad", None: "open"}
    for place, finding in enumerate(findings):
        y, x = top + step * place, at(finding["value"], 0)
        line = f"M{at(finding['low'], 0):.1f} {y:.1f}H{at(finding['high'], _WIDTH):.1f}"
        dot = f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="2.4"/>'
        look = looks[finding["holds"]]
        parts.append(f'<g class="{look}"><path class="bar" d="{line}"/>{dot}</g>')
    size = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    return f'<svg class="chart findings" {size} aria-hidden="true">{"".join(parts)}</svg>'


def _without_the_paper(caption: str) -> str:
    """Leave out what a caption says of the paper."""
    parts = re.split(r"(?<=[.;]) ", caption)
    own = [part for part in parts if not re.search("[Pp]aper|published|Table 1|docs/", part)]
    return re.sub(";$", ".", " ".join(own))


def excerpt(document: str, heading: str) -> str:
    """Return what a page of docs/ has below a heading, without links to other pages."""
    text = document.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.sub(r"\[[^]]+\]\((\w[\w-]*\.md)\)", r"`docs/\1`", text)


def lowered(document: str) -> str:
    """Leave out a document's own title, and put its headings below the page's."""
    return re.sub(r"^(#+ )", r"###\1", re.sub(r"\A# .*\n", "", document), flags=re.MULTILINE)


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
        theory, reproduce = (
            Path(file).read_text(encoding="utf-8") for file in (given.theory, given.reproduce)
        )
        datasets = {"label": "Datasets", "caption": "The datasets of this run and their terms."}
        write_page(
            snakemake.output[0],
            run=asked.run,
            title=asked.title,
            stages=asked.sections,
            data=datasets | _table(Path(given.data), "data", "Datasets"),
            ledger=json.loads(checked(given.ledger)),
            numbers=read_numbers(given.get("numbers", [])),
            standing_in=sorted(asked.stand_ins),
            made={
                "written": f"{datetime.now(UTC):%d %B %Y}".lstrip("0"),
                "commits": _commits(results),
                "data": ", ".join(asked.data),
            },
            made_by={"settings": asked.config, "environment": environment()},
            texts={
                "theory": lowered(theory),
                "deviations": excerpt(reproduce, "Where it deviates from the paper"),
            },
        )
