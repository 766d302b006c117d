"""Write the report: one HTML file with everything the run shows."""

from pathlib import Path

from job import job

from workflow.lib.claims import judge, read_claims
from workflow.lib.page import Exhibit, Section, write_page
from workflow.lib.provenance import environment

with job(snakemake):
    params = snakemake.params
    sections = [
        Section(
            part["name"],
            part["title"],
            [Exhibit(Path(each["path"]), each["caption"]) for each in part["exhibits"]],
        )
        for part in params.sections
    ]
    judgements = judge(read_claims(snakemake.input.claims), Path(snakemake.output[0]).parent)
    if not any(judgement.findings for judgement in judgements):
        judgements = []  # as in a run on the user's own data
    else:
        theory = Path(snakemake.input.theory).read_text(encoding="utf-8")
        sections.append(Section("theory", "Theory", text=theory))
    data = Exhibit(Path(snakemake.input.data), params.data_caption)
    write_page(
        snakemake.output[0],
        run=snakemake.config["run"],
        sections=[*sections, Section("data", "Data", [data])],
        judgements=judgements,
        standing_in=params.standing_in,
        made_by={"settings": snakemake.config, "environment": environment()},
    )
