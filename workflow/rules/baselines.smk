# Stage baselines: deep CCA and exact kernel CCA, on the rows that RCCA is judged on.


# All cores, so that nothing runs beside it while it is timed.
rule baselines_dcca:
    input:
        data=where_had(plan.baselines, plan.baselines.prepared),
        not_had=why_not_had(plan.baselines),
    output:
        sums=f"{RESULTS}/baselines/{{experiment}}.dcca.csv",
        curve=f"{RESULTS}/baselines/{{experiment}}.curve.csv",
    log:
        f"{RESULTS}/logs/baselines/{{experiment}}.dcca.log",
    benchmark:
        f"{RESULTS}/benchmarks/baselines/{{experiment}}.dcca.tsv"
    conda:
        "../envs/rnca.yaml"
    threads: workflow.cores or config["threads"]
    resources:
        mem_mb=growing(plan.baselines.deep_mem_mb),
        runtime=growing(plan.baselines.deep_minutes),
    params:
        dataset=plan.baselines.dataset,
        fits=plan.baselines.deep_fits,
        state=plan.baselines.state(),
        code=code_of("baselines_dcca.py"),
    script:
        "../scripts/baselines_dcca.py"


rule baselines_kcca:
    input:
        data=where_had(plan.baselines, plan.baselines.prepared),
        not_had=why_not_had(plan.baselines),
    output:
        f"{RESULTS}/baselines/{{experiment}}.kcca.csv",
    log:
        f"{RESULTS}/logs/baselines/{{experiment}}.kcca.log",
    benchmark:
        f"{RESULTS}/benchmarks/baselines/{{experiment}}.kcca.tsv"
    conda:
        "../envs/rnca.yaml"
    threads: workflow.cores or config["threads"]
    resources:
        mem_mb=growing(plan.baselines.kernel_mem_mb),
        runtime=growing(plan.baselines.kernel_minutes),
    params:
        dataset=plan.baselines.dataset,
        fits=plan.baselines.kernel_fits,
        state=plan.baselines.state(),
        code=code_of("baselines_kcca.py"),
    script:
        "../scripts/baselines_kcca.py"


rule baselines_report:
    input:
        dcca=plan.baselines.gathered("dcca"),
        curve=plan.baselines.gathered("curve"),
        kcca=plan.baselines.gathered("kcca"),
        published="resources/paper/table1_rcca.csv",
    output:
        markdown=report(
            f"{RESULTS}/tables/baselines.md",
            caption="../report/baselines_table.rst",
            category="Baselines",
            labels={"what": "table"},
        ),
        csv=f"{RESULTS}/tables/baselines.csv",
        growth=f"{RESULTS}/tables/baselines_growth.csv",
        baselines=report(
            f"{RESULTS}/figures/baselines.svg",
            caption="../report/baselines_figure.rst",
            category="Baselines",
            labels={"what": "correlation against CPU minutes"},
        ),
        baselines_png=f"{RESULTS}/figures/baselines.png",
        kernel=report(
            f"{RESULTS}/figures/baselines_kcca.svg",
            caption="../report/baselines_kcca.rst",
            category="Baselines",
            labels={"what": "exact kernel CCA against n"},
        ),
        kernel_png=f"{RESULTS}/figures/baselines_kcca.png",
    log:
        f"{RESULTS}/logs/baselines_report.log",
    benchmark:
        f"{RESULTS}/benchmarks/baselines_report.tsv"
    conda:
        "../envs/rnca.yaml"
    params:
        published=plan.baselines.published(),
        titles=plan.baselines.titles(),
        code=code_of("baselines_report.py"),
    script:
        "../scripts/baselines_report.py"


# For `snakemake baselines`: this stage alone.
rule baselines:
    input:
        plan.baselines.outputs(),
