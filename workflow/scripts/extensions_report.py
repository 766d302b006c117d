"""Make a table and a figure of each part of the extensions stage."""

from job import job

from rnca._core.files import replacing
from workflow.lib.figures import save
from workflow.lib.provenance import write_csv
from workflow.stages.extensions.report import report_on

with job(snakemake):
    output = snakemake.output
    files = {
        part: [paths] if isinstance(paths, str) else paths
        for part, paths in snakemake.input.items()
    }
    outputs = zip(output.markdown, output.csv, output.svg, output.png, strict=True)
    for name, (markdown, csv, svg, png) in zip(snakemake.params.reports, outputs, strict=True):
        made = report_on(name, files, snakemake.params.titles)
        with replacing(markdown) as partial:
            partial.write_text(made.table, encoding="utf-8")
        write_csv(csv, made.summary, {"inputs": list(snakemake.input)})
        save(made.figure, [svg, png])
