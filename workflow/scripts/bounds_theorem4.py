"""Compute the counterexample to Theorem 4, and the errors of regularised eigenvalues."""

from job import job

from workflow.lib.provenance import write_csv
from workflow.stages.bounds.theorem4 import (
    Correlations,
    Counterexample,
    correlation_errors,
    violations,
)

with job(snakemake):
    output, params = snakemake.output, snakemake.params
    found = violations(Counterexample(**params.counterexample))
    write_csv(output.counterexample, found, params.counterexample)
    errors = correlation_errors(Correlations(**params.correlations))
    write_csv(output.correlations, errors, params.correlations)
