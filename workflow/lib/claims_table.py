"""The claims ledger for readers, in Markdown."""

from collections import Counter
from collections.abc import Collection, Sequence
from os import PathLike
from pathlib import Path

from workflow.lib.claims import VERDICTS, Finding, Judgement, judge, ledger, read_claims
from workflow.lib.job import job
from workflow.lib.provenance import write_csv, write_text

_HOLDS = {True: "holds", False: "fails", None: "open"}


def counts(judgements: Sequence[Judgement]) -> str:
    """Say how many claims there are of each verdict."""
    found = Counter(judgement.verdict for judgement in judgements)
    return ", ".join(f"{found[verdict]} {verdict}" for verdict in VERDICTS)


def _headline(judgements: Sequence[Judgement], standing_in: Collection[str]) -> str:
    """Count the verdicts, and say if they are not about the paper's data."""
    if not any(judgement.findings for judgement in judgements):
        return f"nothing that its {len(judgements)} claims rest on was run."
    used = {
        name for each in judgements for found in each.findings for name in found.data.split(", ")
    }
    stand_ins = "" if used.isdisjoint(standing_in) else " (on stand-ins for the paper's data)"
    return f"{len(judgements)} claims{stand_ins}: {counts(judgements)}."


def write_claims(
    path: str | PathLike[str], judgements: Sequence[Judgement], standing_in: Collection[str]
) -> None:
    """Write the ledger: a line of counts, then a section per claim with its evidence.

    Parameters
    ----------
    path : path
    judgements : sequence of Judgement
    standing_in : collection of str
        Datasets that stand in for the paper's; every line that rests on one says so.
    """
    lines = [_headline(judgements, standing_in), ""]
    for judgement in judgements:
        claim = judgement.claim
        lines += [
            f"### {claim['claim']}",
            "",
            f"**{judgement.verdict}** · `{claim['id']}` · {claim['place']} · "
            f"published: {claim['published']}",
            "",
            *[f"- {sentence(finding, standing_in)}" for finding in judgement.findings],
            *[f"- not run: {about}" for about in judgement.missing],
            "",
        ]
    write_text(path, "\n".join(lines))


def sentence(finding: Finding, standing_in: Collection[str]) -> str:
    """Say what one rule found, on which data, and what it asks for."""
    interval = "" if finding.low == finding.high else f" [{finding.low:.4g}, {finding.high:.4g}]"
    names = [
        f"{name} (a stand-in)" if name in standing_in else name
        for name in filter(None, finding.data.split(", "))
    ]
    data = f" on {', '.join(names)}" if names else ""
    return (
        f"{finding.about}{data}: {finding.value:.4g}{interval}; asked for is {finding.rule}: "
        f"{_HOLDS[finding.holds]} (`{finding.csv}`)"
    )


if __name__ == "__main__":
    with job(snakemake) as asked:
        results = Path(snakemake.output.csv).parents[1]
        judgements = judge(read_claims(snakemake.input.claims), results)
        write_csv(snakemake.output.csv, ledger(judgements))
        write_claims(snakemake.output.markdown, judgements, asked.stand_ins)
