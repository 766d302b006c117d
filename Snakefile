# Randomized Nonlinear Component Analysis: from raw data to tables and figures.
# Settings: config/README.md. The plan of the project: docs/architecture.md.
from snakemake.utils import min_version

min_version("9.27")


include: "workflow/common.smk"
include: "workflow/data/rules.smk"
include: "workflow/stages/rpca/rules.smk"
include: "workflow/stages/bounds/rules.smk"
include: "workflow/stages/rcca/rules.smk"
include: "workflow/stages/lupi/rules.smk"
include: "workflow/stages/autoencoder/rules.smk"
include: "workflow/stages/extensions/rules.smk"
include: "workflow/report.smk"


onsuccess:
    if workflow.is_main_process:
        close(workflow.dag_settings, RESULTS, STARTED)


onerror:
    if workflow.is_main_process:
        print(CONTINUES, file=sys.stderr)


rule all:
    default_target: True
    input:
        rules.data.input,
        plan.all_parts,
        plan.all_shown(),
        rules.claims.output,
        rules.page.output,
        rules.summary.output,
