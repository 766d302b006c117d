"""What the screen shows at the end of a run, on one screen: verdicts, findings, what is missing."""

import json
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path

from workflow.data.audit import leak_lines
from workflow.lib.job import job
from workflow.lib.outcomes import Outcomes, unavailable_reason
from workflow.lib.prose import known, read_numbers, tell
from workflow.lib.provenance import checked, write_text


def shortened(text: str) -> list[str]:
    """Break a text into at most two lines of the screen."""
    return textwrap.wrap(text, 98, max_lines=2, placeholder=" …", subsequent_indent="  ")


def by_reason(reasons: Mapping[str, str]) -> list[str]:
    """List what has the same reason in one line."""
    names: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        names.setdefault(reason, []).append(name)
    return [f"{', '.join(those)}: {reason}" for reason, those in names.items()]


def summary(
    counts: str,
    findings: Mapping[str, str],
    not_run: Mapping[str, str],
    not_fetched: Mapping[str, str],
    leaks: Iterable[str],
) -> str:
    """Lay out the summary.

    ``counts`` of the verdicts are empty if nothing that the claims rest on was run. ``findings``
    are sentences by stage; ``not_run`` and ``not_fetched`` are reasons, by experiment and dataset.
    """
    lines = shortened(f"Claims: {counts}") if counts else []
    for stage, sentence in findings.items():
        lines += shortened(f"{stage}: {sentence}")
    for line in by_reason(not_run):
        lines += shortened(f"Not run: {line}")
    for line in by_reason(not_fetched):
        lines += shortened(f"Could not be fetched, and is tried again by the next run: {line}")
    if not not_run and not not_fetched:
        lines.append("All that these settings ask for was run.")
    if telling := list(leaks):
        lines += shortened(f"Leaks: {'; '.join(telling)}")[:1]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    with job(snakemake) as asked:
        given = snakemake.input
        numbers = read_numbers(given.get("numbers", []))
        said = tell(known(numbers, json.loads(checked(given.ledger))))
        findings = {
            stage: text for stage in numbers if (text := said.get(f"screen-{stage}", "")).strip()
        }
        headline = checked(given.claims).decode().splitlines()[0]
        not_run = {
            asked.titles[Path(file).parent.name].get(name, name): reason
            for file in given.get("outcomes", [])
            for name, reason in Outcomes.read([file]).rows(Path(file).stem)[1].items()
        }
        missing = {Path(file).stem: unavailable_reason(file) for file in given.get("records", [])}
        columns = ["experiment", "part", "kind", "rows", "of"]
        leaks, _ = Outcomes.read(given.get("leaks", [])).rows("leaks", columns=columns)
        text = summary(
            "" if headline.startswith("nothing") else headline,
            findings,
            not_run,
            {name: reason for name, reason in missing.items() if reason},
            leak_lines(leaks, asked.titles["rcca"]),
        )
        write_text(snakemake.output[0], text)
