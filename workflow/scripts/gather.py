"""Put the CSVs of an experiment together by kind, or the reason why there are none."""

import json
from pathlib import Path

from job import job

from rnca.provenance import write_csv
from rnca.reporting.outcomes import gather, not_run

with job(snakemake):
    labels = {
        "experiment": snakemake.wildcards.experiment,
        "dataset": snakemake.params.dataset,
    }
    for what, output in snakemake.output.items():
        if inputs := snakemake.input.get(what):
            outcome = gather([inputs] if isinstance(inputs, str) else inputs, labels)
        elif record := snakemake.input.get("not_had"):
            reason = json.loads(Path(str(record)).read_text(encoding="utf-8"))["not_run"]
            outcome = not_run(reason, labels)
        else:
            outcome = not_run("left out by `skip` in the configuration", labels)
        write_csv(output, outcome, labels)
