"""Cluster shapes that k-means cannot tell apart, write tidy CSVs."""

from job import job

from workflow.lib.provenance import write_csv
from workflow.stages.extensions.clustering import Comparison, on_shapes

with job(snakemake):
    made_by = snakemake.params.comparison
    scores, points = on_shapes(Comparison(**made_by))
    write_csv(snakemake.output.scores, scores, made_by)
    write_csv(snakemake.output.points, points, made_by)
