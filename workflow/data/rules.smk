# Datasets: each, embedded, fetched or the user's own, in one memory-mappable form.
from math import ceil

from workflow.data.catalogue import parser_script
from workflow.data.sources import file_sha256
from workflow.lib.requests import code_version

# Datasets are shared by all runs, and so are the requests for them.
REQUESTS = "data/requests"


def last_failure(dataset):
    """Return when fetching a dataset last failed: asked for again, what failed is fetched again."""
    note = Path(f"{FETCHED}/{dataset}.failure.txt")
    return note.read_text(encoding="utf-8").partition("\n")[0] if note.is_file() else "never"


# Read once, before any job runs.
LAST_FAILURES = {name: last_failure(name) for name in CATALOGUE}


# No input of the job: their checksums are in its request, and their times may lie in the future.
def own_files(w):
    return settings.datasets[w.dataset].files() if w.dataset in settings.datasets else []


def checksums(w):
    """Return the published checksums of a dataset's files, which no code holds."""
    source = CATALOGUE[w.dataset].source if w.dataset in CATALOGUE else None
    return {name: str(file.checksum) for name, file in source.files.items()} if source else {}


def prepare_settings(w):
    own = settings.datasets.get(w.dataset)
    return {
        # The job imports it by name, so that other datasets do not depend on it.
        "parser": code_version(parser_script(w.dataset)),
        "entry": own and own.model_dump(mode="json", exclude_none=True),
        "files": checksums(w),
        "own": {file: file_sha256(Path(file)) for file in own_files(w)},
    }


def size_mb(w):
    """Return the size of a dataset, in millions of bytes: prepared, or as the user's files."""
    if w.dataset in CATALOGUE:
        return CATALOGUE[w.dataset].prepared_mb
    return ceil(sum(Path(file).stat().st_size for file in own_files(w)) / 1e6)


fetch_request = asks(
    "data/fetch.py",
    lambda w: {
        "last_failure": LAST_FAILURES[w.dataset],
        "note": f"{FETCHED}/{w.dataset}.failure.txt",
        "files": checksums(w),
    },
    REQUESTS,
)
prepare_request = asks("data/catalogue.py", prepare_settings, REQUESTS)
table_request = asks("data/table.py", {"skipped": settings.skip})


# If a dataset cannot be fetched, the reason is recorded and the rest of the run goes on.
checkpoint fetch:
    input:
        request=fetch_request.file,
    output:
        f"{FETCHED}/{{dataset}}.json",
    log:
        log_of("fetch/{dataset}"),
    benchmark:
        benchmark_of("fetch/{dataset}")
    localrule: True
    conda:
        "../envs/data.yaml"
    params:
        request=fetch_request.asked,
    script:
        "fetch.py"


rule prepare:
    input:
        request=prepare_request.file,
        record=lambda w: ancient([record(w.dataset)] if is_fetched(w.dataset) else []),
    output:
        directory(f"{PREPARED}/{{dataset}}"),
    log:
        log_of("prepare/{dataset}"),
    benchmark:
        benchmark_of("prepare/{dataset}")
    conda:
        "../envs/data.yaml"
    resources:
        # As read, as parsed, and once more where a type is converted.
        mem_mb=growing(lambda w: 700 + 3 * size_mb(w)),
        runtime=growing(60),
    params:
        request=prepare_request.asked,
    script:
        "catalogue.py"


rule data_table:
    input:
        request=table_request.file,
        records=[record(name) for name in settings.used() if is_fetched(name)],
        prepared=lambda w: [
            f"{PREPARED}/{name}" for name in settings.used() if not is_unavailable(name)
        ],
    output:
        f"{RESULTS}/tables/data.md",
    log:
        log_of("data_table"),
    benchmark:
        benchmark_of("data_table")
    group:
        "report"
    conda:
        "../envs/rnca.yaml"
    params:
        request=table_request.asked,
    script:
        "table.py"


# For `snakemake data`: every dataset the settings ask for, and nothing else.
rule data:
    input:
        rules.data_table.input.records,
        rules.data_table.output,
