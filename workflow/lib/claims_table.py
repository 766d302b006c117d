"""The claims ledger for readers, in Markdown."""

from collections import Counter
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import numpy as np

from workflow.lib.claims import (
    KEY,
    RESULTS,
    VERDICTS,
    Finding,
    Judgement,
    files_of,
    judge,
    ledger,
    read_claims,
)
from workflow.lib.job import job
from workflow.lib.provenance import write_csv, write_text


def divided(judgements: Sequence[Judgement]) -> dict[str, list[Judgement]]:
    """Divide the judgements into the paper's claims and checks of our own."""
    ours = [each for each in judgements if each.is_ours]
    return {
        "claims of the paper": [each for each in judgements if not each.is_ours],
        "checks of our own": ours,
    }


def counts(judgements: Sequence[Judgement]) -> str:
    """Say how many claims there are of each verdict, the paper's and ours apart."""
    sentences = []
    for what, those in divided(judgements).items():
        found = Counter(judgement.verdict for judgement in those)
        shown = [f"{found[verdict]} {verdict}" for verdict in VERDICTS if found[verdict]]
        sentences += [f"{len(those)} {what}: {', '.join(shown)}."] if those else []
    return " ".join(sentences)


def _headline(judgements: Sequence[Judgement]) -> str:
    if not any(judgement.findings for judgement in judgements):
        return f"nothing that the {len(judgements)} claims rest on was run."
    return counts(judgements)


def write_claims(path: str | PathLike[str], judgements: Sequence[Judgement]) -> None:
    """Write the ledger: counts, a key, then a section per claim with its evidence."""
    lines = [_headline(judgements), "", KEY, ""]
    for what, those in divided(judgements).items():
        lines += [f"## {what[0].upper()}{what[1:]}", ""] if those else []
        for judgement in those:
            claim = judgement.claim
            lines += [
                f"### {claim['claim']}",
                "",
                f"**{verdict(judgement)}** · `{claim['id']}` · {claim['place']} · "
                f"published: {claim['published']} · {dates(judgement)}",
                "",
                *[f"- {sentence(finding)}" for finding in judgement.findings],
                *[f"- not run: {about}" for about in judgement.missing],
                "",
            ]
    write_text(path, "\n".join(lines))


def verdict(judgement: Judgement) -> str:
    """Give the verdict, with how many findings held."""
    return ", ".join(filter(None, [judgement.verdict, judgement.held]))


def dates(judgement: Judgement) -> str:
    """Say when the rules were written, and which of them after first results."""
    rules = judgement.claim["rules"]
    if not rules:
        return "no rule"
    written = {
        f"{rule['written']}{' (after first results)' if rule.get('after_results') else ''}": None
        for rule in rules
    }
    return f"rule{'s' if len(rules) > 1 else ''} written {', '.join(written)}"


def sentence(finding: Finding) -> str:
    """Say what one rule found, on which data, and what it asks for."""
    spread = interval(finding) and f" [{interval(finding)}]"
    data = f" on {finding.data}" if finding.data else ""
    data += " (stand-in)" if finding.stand_in else ""
    return (
        f"{finding.about}{data}: {shown_number(finding.value)}{spread} ({finding.rule}) "
        f"{RESULTS[finding.holds]} (`{finding.csv}`)"
    )


def interval(finding: Finding) -> str:
    """Write the confidence interval, if the finding needs one."""
    if finding.low == finding.high:
        return ""
    if not np.isfinite(finding.high):
        is_bounded = np.isfinite(finding.low)
        return f"{shown_number(finding.low)} or more" if is_bounded else "no interval"
    return f"{shown_number(finding.low)} to {shown_number(finding.high)}"


def shown_number(value: float) -> str:
    """Write two decimals, of a small number two digits, of a large one none."""
    size = abs(value)
    return f"{value:.0f}" if size >= 100 else f"{value:.2f}" if size >= 0.1 else f"{value:.2g}"


if __name__ == "__main__":
    with job(snakemake):
        results = Path(snakemake.output.csv).parents[1]
        files = files_of(snakemake.input, results)
        judgements = judge(read_claims(snakemake.input.claims), results, files=files)
        write_csv(snakemake.output.csv, ledger(judgements))
        write_claims(snakemake.output.markdown, judgements)
