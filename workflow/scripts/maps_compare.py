"""Measure every feature map at every m: one repeat."""

from job import job

from workflow.data.prepared import load_prepared
from workflow.lib.provenance import write_csv
from workflow.stages.maps.fit import Comparison, compare

with job(snakemake):
    data = load_prepared(snakemake.input.data, verify=True)
    scores = compare(Comparison(**snakemake.params.comparison), data)
    made_by = {"comparison": snakemake.params.comparison, "data": data.meta}
    write_csv(snakemake.output[0], scores, made_by)
