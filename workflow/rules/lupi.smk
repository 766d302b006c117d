# Stage lupi: learning with privileged information (Section 5.3).
# Partitions are divided into jobs, each of which keeps its own result.


rule lupi_compare:
    input:
        data=plan.lupi.prepared,
    output:
        accuracy=f"{RESULTS}/lupi/{{experiment}}/{{block}}.accuracy.csv",
        settings=f"{RESULTS}/lupi/{{experiment}}/{{block}}.settings.csv",
    log:
        f"{RESULTS}/logs/lupi/{{experiment}}/{{block}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/lupi/{{experiment}}/{{block}}.tsv"
    conda:
        "../envs/rnca.yaml"
    threads: 1
    resources:
        mem_mb=growing(plan.lupi.mem_mb),
        runtime=growing(plan.lupi.minutes),
    params:
        experiment=plan.lupi.experiment,
        partitions=plan.lupi.partitions,
        code=code_of("lupi_compare.py"),
    script:
        "../scripts/lupi_compare.py"


# All partitions of an experiment in one place, or the reason why there are none.
rule lupi_gather:
    input:
        accuracy=where_had(plan.lupi, plan.lupi.accuracy),
        settings=where_had(plan.lupi, plan.lupi.all_settings),
        not_had=why_not_had(plan.lupi),
    output:
        accuracy=f"{RESULTS}/lupi/{{experiment}}.accuracy.csv",
        settings=f"{RESULTS}/lupi/{{experiment}}.settings.csv",
    log:
        f"{RESULTS}/logs/lupi/{{experiment}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/lupi/{{experiment}}.tsv"
    conda:
        "../envs/rnca.yaml"
    params:
        dataset=plan.lupi.dataset,
        code=code_of("gather.py"),
    script:
        "../scripts/gather.py"


rule lupi_table:
    input:
        accuracy=plan.lupi.gathered("accuracy"),
        published="resources/paper/fig_lupi.csv",
    output:
        markdown=report(
            f"{RESULTS}/tables/lupi.md",
            caption="../report/lupi_table.rst",
            category="Privileged information",
            labels={"what": "table"},
        ),
        verdict=report(
            f"{RESULTS}/tables/lupi_verdict.md",
            caption="../report/lupi_verdict.rst",
            category="Privileged information",
            labels={"what": "verdict"},
        ),
        csv=f"{RESULTS}/tables/lupi.csv",
        pairs=f"{RESULTS}/tables/lupi_pairs.csv",
    log:
        f"{RESULTS}/logs/lupi_table.log",
    benchmark:
        f"{RESULTS}/benchmarks/lupi_table.tsv"
    conda:
        "../envs/rnca.yaml"
    params:
        published=plan.lupi.published(),
        titles=plan.lupi.titles(),
        code=code_of("lupi_table.py"),
    script:
        "../scripts/lupi_table.py"


rule lupi_figures:
    input:
        accuracy=plan.lupi.gathered("accuracy"),
        settings=plan.lupi.gathered("settings"),
        table=rules.lupi_table.output.csv,
        pairs=rules.lupi_table.output.pairs,
        published="resources/paper/fig_lupi.csv",
    output:
        partitions=report(
            f"{RESULTS}/figures/lupi.svg",
            caption="../report/lupi_figure.rst",
            category="Privileged information",
            labels={"what": "accuracy in each partition"},
        ),
        partitions_png=f"{RESULTS}/figures/lupi.png",
        methods=report(
            f"{RESULTS}/figures/lupi_methods.svg",
            caption="../report/lupi_methods.rst",
            category="Privileged information",
            labels={"what": "methods in pairs"},
        ),
        methods_png=f"{RESULTS}/figures/lupi_methods.png",
        reg=report(
            f"{RESULTS}/figures/lupi_reg.svg",
            caption="../report/lupi_reg.rst",
            category="Privileged information",
            labels={"what": "accuracy against reg"},
        ),
        reg_png=f"{RESULTS}/figures/lupi_reg.png",
    log:
        f"{RESULTS}/logs/lupi_figures.log",
    benchmark:
        f"{RESULTS}/benchmarks/lupi_figures.tsv"
    conda:
        "../envs/rnca.yaml"
    params:
        published=plan.lupi.published(),
        titles=plan.lupi.titles(),
        code=code_of("lupi_figures.py"),
    script:
        "../scripts/lupi_figures.py"


# For `snakemake lupi`: this stage alone.
rule lupi:
    input:
        plan.lupi.outputs(),
