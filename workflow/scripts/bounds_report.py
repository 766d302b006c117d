"""Put the draws of all sweeps together, fit exponents, and draw norms with their bounds."""

import pandas as pd
from job import job

from workflow.lib.figures import save
from workflow.lib.provenance import read_csv, write_csv
from workflow.stages.bounds.figures import bounds_figure
from workflow.stages.bounds.report import draws, panels, points, write_bounds_table

with job(snakemake):
    output, params = snakemake.output, snakemake.params
    made_by = {"fixed": params.fixed, "inputs": list(snakemake.input)}
    norms = pd.concat([read_csv(path) for path in snakemake.input.draws], ignore_index=True)
    write_csv(output.norms, norms, made_by)
    drawn = draws(norms, params.fixed)
    summary = points(drawn, pd.read_csv(snakemake.input.published), params.published)
    write_csv(output.points, summary, made_by)
    fits = panels(drawn, summary)
    write_csv(output.csv, fits, made_by)
    write_bounds_table(output.markdown, fits, params.titles)
    save(bounds_figure(summary, params.titles), [output.figure, output.png])
