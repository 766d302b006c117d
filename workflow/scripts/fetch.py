"""Fetch a dataset's files into the cache, and record why not if no source yields one."""

import json
import sys
from datetime import datetime
from pathlib import Path

from job import job

from rnca._core.files import replacing
from workflow.data.catalogue import dataset
from workflow.data.errors import FetchError
from workflow.data.fetch import fetch_source

with job(snakemake):
    entry, log = dataset(snakemake.wildcards.dataset), Path(snakemake.log[0])
    not_run = None
    try:
        fetch_source(entry.source, checksums=snakemake.params.checksums)
    except FetchError as error:
        if snakemake.config["strict"]:
            raise
        lead = str(error).splitlines()[0].removesuffix(". Sources tried:")
        not_run = f"{lead}; what was tried and what you can do: {log}"
        log.write_text(f"{datetime.now().isoformat()}\n{error}\n", encoding="utf-8")
        with replacing(snakemake.params.note) as partial:
            partial.write_text(log.read_text(encoding="utf-8"), encoding="utf-8")
        print(f"\n{entry.title}: {not_run}\n", file=sys.stderr)
    with replacing(snakemake.output[0]) as partial:
        partial.write_text(json.dumps({"not_run": not_run}) + "\n", encoding="utf-8")
