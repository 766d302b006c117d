"""What the screen shows at the end of a run."""

from pathlib import Path

from workflow.data.audit import leak_lines
from workflow.lib.job import job
from workflow.lib.outcomes import read_outcomes, unavailable_reason
from workflow.lib.provenance import checked, write_text

if __name__ == "__main__":
    with job(snakemake) as asked:
        given = snakemake.input
        lines = [checked(table).decode() for table in given.get("tables", [])]
        lines.append(f"Ledger: {checked(given.claims).decode().splitlines()[0]}")
        not_run = [
            f"  {asked.titles[Path(file).parent.name].get(name, name)}: {reason}"
            for file in given.get("outcomes", [])
            for name, reason in read_outcomes(file, [])[1].items()
        ]
        missing = {Path(file).stem: unavailable_reason(file) for file in given.get("records", [])}
        not_fetched = [f"  {name}: {reason}" for name, reason in missing.items() if reason]
        if not_run:
            lines += ["Not run:", *not_run]
        if not_fetched:
            lines += ["Could not be fetched, and is tried again by the next run:", *not_fetched]
        if not not_run + not_fetched:
            lines.append("All that these settings ask for was run.")
        if leaks := given.get("leaks"):
            found, _ = read_outcomes(leaks, ["experiment", "part", "kind", "rows", "of"])
            telling = leak_lines(found, asked.titles["rcca"])
            lines += ["Leaks:", *(f"  {line}" for line in telling)] if telling else []
        write_text(snakemake.output[0], "\n".join(lines) + "\n")
