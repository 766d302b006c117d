"""Set each timed RCCA fit beside the time in which deep CCA did as well."""

from job import job

from workflow.lib.outcomes import read_outcomes
from workflow.lib.provenance import read_csv, write_csv
from workflow.stages.rcca.baselines import CURVE_COLUMNS, LABELS
from workflow.stages.rcca.baselines_report import race

with job(snakemake):
    curve, _ = read_outcomes(snakemake.input.curve, [*LABELS, *CURVE_COLUMNS])
    rcca = read_csv(snakemake.input.rcca)
    write_csv(snakemake.output[0], race(curve, rcca), {"inputs": list(snakemake.input)})
