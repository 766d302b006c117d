"""Train deep CCA, going on from where a killed job was, or say why not."""

import pandas as pd
from job import job
from not_had import why_not_had

from workflow.data.prepared import load_prepared
from workflow.lib.outcomes import labelled, not_run
from workflow.lib.partial import state_file
from workflow.lib.provenance import write_csv
from workflow.stages.rcca.baselines import Deep, fit_dcca

with job(snakemake):
    params = snakemake.params
    labels = {"experiment": snakemake.wildcards.experiment, "dataset": params.dataset}
    made_by, states = {"fits": params.fits}, []
    if path := snakemake.input.get("data"):
        data = load_prepared(path, verify=True)
        made_by["data"] = data.meta
        fits = []
        for settings in params.fits:
            name = f"{labels['experiment']}-dcca-{settings['repeat']}.npz"
            depends_on = {"fit": settings, "data": data.meta, "code": params.code}
            states.append(state_file(params.state, name, depends_on))
            fits.append(fit_dcca(Deep(**settings), data, states[-1]))
        sums, curve = (labelled(pd.concat(frames), labels) for frames in zip(*fits, strict=True))
    else:
        sums = curve = not_run(why_not_had(snakemake), labels)
    write_csv(snakemake.output.sums, sums, made_by)
    write_csv(snakemake.output.curve, curve, made_by)
    for state in states:
        state.unlink(missing_ok=True)
