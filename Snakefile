# Randomized Nonlinear Component Analysis: from raw data to every table and figure.
# Settings: config/README.md. Stages: workflow/rules/.
from snakemake.utils import min_version

min_version("9.10")


configfile: "config/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/rcca.smk"
include: "workflow/rules/report.smk"


rule all:
    default_target: True
    input:
        final_outputs(),
