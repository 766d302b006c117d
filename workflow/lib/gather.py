"""Put the CSVs of all experiments of a stage together, or the reason why one was not run."""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import pandas as pd

from workflow.lib.job import job
from workflow.lib.outcomes import labelled, not_run, unavailable_reason
from workflow.lib.provenance import read_csv, write_csv


def gather(
    parts: Iterable[str],
    datasets: Mapping[str, str],
    reasons: Mapping[str, str],
    published: Collection[str] = (),
) -> pd.DataFrame:
    """Read the parts into one frame, experiments in the order of the settings.

    Parameters
    ----------
    parts : iterable of path
        ``…/<experiment>/<part>.csv``.
    datasets : mapping of experiment to dataset
    reasons : mapping of dataset to the reason why it is unavailable
    published : collection of str
        The experiments that follow the paper's protocol: column ``published`` says which.
    """
    found: dict[str, list[pd.DataFrame]] = {}
    for part in parts:
        found.setdefault(Path(part).parent.name, []).append(read_csv(part))
    frames = []
    for experiment, dataset in datasets.items():
        labels: dict[str, str | bool] = {"experiment": experiment, "dataset": dataset}
        labels["published"] = experiment in published
        if experiment in found:
            frames.append(labelled(pd.concat(found[experiment], ignore_index=True), labels))
        elif dataset in reasons:
            frames.append(not_run(reasons[dataset], labels))
    # As objects, so that whole numbers stay whole beside experiments that have none.
    objects = [frame.astype(object) for frame in frames if len(frame.columns)]
    return pd.concat(objects, ignore_index=True)


if __name__ == "__main__":
    with job(snakemake) as asked:
        given = snakemake.input
        reasons = dict.fromkeys(asked.skipped, "left out by `skip` in the settings")
        for record in map(Path, given.get("unavailable", [])):
            reasons[record.stem] = unavailable_reason(record) or ""
        rows = gather(given.parts, asked.datasets, reasons, asked.published)
        write_csv(snakemake.output[0], rows)
