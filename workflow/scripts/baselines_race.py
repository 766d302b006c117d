"""Set each timed RCCA fit beside the time in which deep CCA did as well."""

from job import job

from rnca.provenance import read_csv, write_csv
from rnca.reporting.baselines import race
from rnca.reporting.outcomes import read_outcomes
from rnca.stages.baselines import CURVE_COLUMNS, LABELS

with job(snakemake):
    curve, _ = read_outcomes(snakemake.input.curve, [*LABELS, *CURVE_COLUMNS])
    rcca = read_csv(snakemake.input.rcca)
    write_csv(snakemake.output[0], race(curve, rcca), {"inputs": list(snakemake.input)})
