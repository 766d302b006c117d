"""Fit exact kernel CCA to more and more rows, keeping what is done, or say why not."""

from job import job
from not_had import why_not_had

from workflow.data.prepared import load_prepared
from workflow.lib.outcomes import labelled, not_run
from workflow.lib.partial import state_file
from workflow.lib.provenance import write_csv
from workflow.stages.rcca.baselines import Kernel, fit_kcca

with job(snakemake):
    params = snakemake.params
    labels = {"experiment": snakemake.wildcards.experiment, "dataset": params.dataset}
    made_by, states = {"fits": params.fits}, []
    if path := snakemake.input.get("data"):
        data = load_prepared(path, verify=True)
        made_by["data"] = data.meta
        depends_on = {"fits": params.fits, "data": data.meta, "code": params.code}
        states.append(state_file(params.state, f"{labels['experiment']}-kcca.json", depends_on))
        rows = labelled(fit_kcca(Kernel(**params.fits), data, states[0]), labels)
    else:
        rows = not_run(why_not_had(snakemake), labels)
    write_csv(snakemake.output[0], rows, made_by)
    for state in states:
        state.unlink(missing_ok=True)
