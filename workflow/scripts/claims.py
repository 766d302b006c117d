"""Judge every claim of the paper by the run's CSVs."""

from pathlib import Path

from job import job

from workflow.lib.claims import judge, ledger, read_claims
from workflow.lib.claims_table import write_claims
from workflow.lib.provenance import write_csv

with job(snakemake):
    results = Path(snakemake.output.csv).parents[1]
    judgements = judge(read_claims(snakemake.input.claims), results)
    write_csv(snakemake.output.csv, ledger(judgements), {"claims": snakemake.input.claims})
    write_claims(snakemake.output.markdown, judgements, snakemake.params.standing_in)
