"""Say what each dataset holds, and which could not be had."""

import json
from pathlib import Path

from job import job

from workflow.data.prepared import load_prepared
from workflow.data.table import write_data_table

with job(snakemake):
    not_had = dict.fromkeys(snakemake.params.skipped, "left out by `skip` in the configuration")
    for record in map(Path, snakemake.input.get("records", [])):
        if reason := json.loads(record.read_text(encoding="utf-8"))["not_run"]:
            not_had[record.stem] = reason
    prepared = [load_prepared(path) for path in snakemake.input.get("prepared", [])]
    write_data_table(snakemake.output.markdown, prepared, not_had)
    print(Path(snakemake.output.markdown).read_text(encoding="utf-8"))
