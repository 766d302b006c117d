"""Count what leaks from an experiment's training rows into its other rows."""

import pandas as pd
from job import job

from workflow.data.audit import leak_audit
from workflow.data.prepared import load_prepared
from workflow.data.splits import Split
from workflow.lib.provenance import write_csv

with job(snakemake):
    data = load_prepared(snakemake.input.data, verify=True)
    split = Split.load(snakemake.input.split, n_rows=data.n_rows)
    frame_columns = data.meta.get("frame_columns")
    leaks = pd.DataFrame(leak_audit(split, data.x, data.y, frame_columns=frame_columns))
    leaks.insert(0, "experiment", snakemake.wildcards.experiment)
    write_csv(snakemake.output[0], leaks, {"split": snakemake.input.split, "data": data.meta})
