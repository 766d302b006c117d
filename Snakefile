# Randomized Nonlinear Component Analysis: from raw data to tables and figures.
# Settings: config/README.md. Stages: workflow/rules/.
from snakemake.utils import min_version

min_version("9.10")

# A config file on the command line stands alone; it does not extend the default one.
if not workflow.config_settings.configfiles:

    configfile: "config/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/rpca.smk"
include: "workflow/rules/bounds.smk"
include: "workflow/rules/rcca.smk"
include: "workflow/rules/lupi.smk"
include: "workflow/rules/baselines.smk"
include: "workflow/rules/autoencoder.smk"
include: "workflow/rules/maps.smk"
include: "workflow/rules/extensions.smk"
include: "workflow/rules/report.smk"


wildcard_constraints:
    dataset="[a-z0-9-]+",
    experiment="[a-z0-9-]+",
    feature_map="[a-z]+",
    repeat=r"\d+",
    shard=r"\d+",
    m=r"\d+",
    part=r"all|repeat-\d+|sweep-[dm]",
    sweep="[a-z0-9-]+",
    block=r"\d+",


rule all:
    default_target: True
    input:
        plan.final_outputs(),
