"""Time the draw of every feature map, and its features, alone on all of the job's cores."""

from job import job

from workflow.lib.provenance import write_csv
from workflow.stages.maps.times import Timing, time_maps

with job(snakemake):
    made_by = {"timing": snakemake.params.timing, "threads": snakemake.threads}
    write_csv(snakemake.output[0], time_maps(Timing(**snakemake.params.timing)), made_by)
