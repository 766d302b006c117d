"""Say, in a table and a figure, what choosing reg on tuning rows brings."""

from job import job

from workflow.lib.figures import save
from workflow.lib.outcomes import read_outcomes
from workflow.lib.provenance import write_csv
from workflow.stages.rcca.figures import tuning_figure
from workflow.stages.rcca.tuning import TUNING_COLUMNS, chosen, write_tuning_table

with job(snakemake):
    titles, output = snakemake.params.titles, snakemake.output
    tuning, _ = read_outcomes(snakemake.input.tuning, TUNING_COLUMNS)
    choice = chosen(tuning, snakemake.params.regs)
    write_csv(output.csv, choice, {"inputs": list(snakemake.input)})
    write_tuning_table(output.markdown, choice, titles)
    save(tuning_figure(choice, titles), [output.figure, output.png])
