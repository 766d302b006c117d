"""Draw accuracy in each partition, per method and against reg."""

import pandas as pd
from job import job

from workflow.lib.figures import save
from workflow.lib.outcomes import read_outcomes
from workflow.lib.provenance import read_csv
from workflow.stages.lupi.figures import methods_figure, partitions_figure, reg_figure
from workflow.stages.lupi.report import ACCURACY_COLUMNS, SETTINGS_COLUMNS, published_means

with job(snakemake):
    given, out, params = snakemake.input, snakemake.output, snakemake.params
    accuracy, _ = read_outcomes(given.accuracy, ACCURACY_COLUMNS)
    settings, _ = read_outcomes(given.settings, SETTINGS_COLUMNS)
    summary, pairs = read_csv(given.table), read_csv(given.pairs)
    published = pd.read_csv(given.published)
    partitions = partitions_figure(accuracy, published, params.published, params.titles)
    save(partitions, [out.partitions, out.partitions_png])
    paper = dict.fromkeys(params.published, published_means(published))
    save(methods_figure(summary, pairs, paper, params.titles), [out.methods, out.methods_png])
    save(reg_figure(settings, summary, params.titles), [out.reg, out.reg_png])
