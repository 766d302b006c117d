"""Time exact, randomized and linear methods against the number of rows, or say why not."""

import pandas as pd
from job import job
from not_had import why_not_had

from workflow.data.prepared import load_prepared
from workflow.lib.outcomes import not_run
from workflow.lib.provenance import write_csv
from workflow.stages.rpca.times import Timing, race

with job(snakemake):
    params = snakemake.params
    made_by = {"timings": params.timings, "threads": snakemake.threads}
    if path := snakemake.input.get("data"):
        data = load_prepared(path, verify=True)
        made_by["data"] = data.meta
        times = [race(Timing(**each), data, snakemake.threads) for each in params.timings]
        frame = pd.concat(times, ignore_index=True)
    else:
        labels = {"experiment": snakemake.wildcards.experiment, "dataset": params.dataset}
        frame = not_run(why_not_had(snakemake), labels)
    write_csv(snakemake.output[0], frame, made_by)
