"""Say, in a table and a figure, what choosing reg on tuning rows brings."""

from job import job

from rnca.provenance import write_csv
from rnca.reporting.figures import save
from rnca.reporting.outcomes import read_outcomes
from rnca.reporting.rcca_figures import tuning_figure
from rnca.reporting.tuning import TUNING_COLUMNS, chosen, write_tuning_table

with job(snakemake):
    titles, output = snakemake.params.titles, snakemake.output
    tuning, _ = read_outcomes(snakemake.input.tuning, TUNING_COLUMNS)
    choice = chosen(tuning, snakemake.params.regs)
    write_csv(output.csv, choice, {"inputs": list(snakemake.input)})
    write_tuning_table(output.markdown, choice, titles)
    save(tuning_figure(choice, titles), [output.figure, output.png])
