# Randomized Nonlinear Component Analysis: from raw data to tables and figures.
# Settings: config/README.md. The plan of the project: docs/architecture.md.
from snakemake.utils import min_version

min_version("9.27")

# A config file on the command line stands alone; it does not extend the default one.
if not workflow.config_settings.configfiles:

    configfile: "config/config.yaml"


include: "workflow/common.smk"
include: "workflow/data/rules.smk"
include: "workflow/stages/rpca/rules.smk"
include: "workflow/stages/bounds/rules.smk"
include: "workflow/stages/rcca/rules.smk"
include: "workflow/stages/lupi/rules.smk"
include: "workflow/stages/autoencoder/rules.smk"
include: "workflow/stages/extensions/rules.smk"
include: "workflow/report.smk"


wildcard_constraints:
    dataset="[a-z0-9-]+",
    experiment="[a-z0-9-]+",
    feature_map="linear|fourier|nystroem",
    repeat=r"\d+",
    shard=r"\d+",
    m=r"\d+",
    block=r"\d+",


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
        all_parts,
        SHOWN,
        rules.claims.output,
        rules.page.output,
        rules.summary.output,
