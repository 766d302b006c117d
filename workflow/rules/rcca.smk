# Stage rcca: test correlation against the number of features (Table 1).
# A fit is accumulate (in shards, if asked for) -> merge and solve.


rule rcca_shard:
    input:
        data=plan.rcca.prepared,
    output:
        temp(
            f"{RESULTS}/rcca/{{experiment}}/{{feature_map}}-{{repeat}}.shard-{{shard}}.npz"
        ),
    log:
        f"{RESULTS}/logs/rcca/{{experiment}}/{{feature_map}}-{{repeat}}.shard-{{shard}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/rcca/{{experiment}}/{{feature_map}}-{{repeat}}.shard-{{shard}}.tsv"
    conda:
        "../envs/rnca.yaml"
    threads: config["threads"]
    resources:
        mem_mb=growing(plan.rcca.mem_mb),
        runtime=growing(plan.rcca.minutes),
    params:
        experiment=plan.rcca.experiment,
        shards=plan.rcca.shard_count,
        code=code_of("rcca_shard.py"),
    script:
        "../scripts/rcca_shard.py"


rule rcca_path:
    input:
        data=plan.rcca.prepared,
        shards=plan.rcca.shards,
    output:
        sums=f"{RESULTS}/rcca/{{experiment}}/{{feature_map}}-{{repeat}}.sums.csv",
        components=f"{RESULTS}/rcca/{{experiment}}/{{feature_map}}-{{repeat}}.components.csv",
        timings=f"{RESULTS}/rcca/{{experiment}}/{{feature_map}}-{{repeat}}.timings.csv",
        tuning=f"{RESULTS}/rcca/{{experiment}}/{{feature_map}}-{{repeat}}.tuning.csv",
        split=f"{RESULTS}/rcca/{{experiment}}/{{feature_map}}-{{repeat}}.split.npz",
    log:
        f"{RESULTS}/logs/rcca/{{experiment}}/{{feature_map}}-{{repeat}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/rcca/{{experiment}}/{{feature_map}}-{{repeat}}.tsv"
    conda:
        "../envs/rnca.yaml"
    threads: config["threads"]
    resources:
        mem_mb=growing(plan.rcca.mem_mb),
        runtime=growing(plan.rcca.minutes),
    params:
        experiment=plan.rcca.experiment,
        code=code_of("rcca_path.py"),
    script:
        "../scripts/rcca_path.py"


# All cores, so that nothing runs beside it; how many of them a fit uses is what is varied.
rule rcca_timing:
    input:
        data=plan.rcca.prepared,
    output:
        f"{RESULTS}/rcca/{{experiment}}/{{feature_map}}-m{{m}}.timing.csv",
    log:
        f"{RESULTS}/logs/rcca/{{experiment}}/{{feature_map}}-m{{m}}.timing.log",
    benchmark:
        f"{RESULTS}/benchmarks/rcca/{{experiment}}/{{feature_map}}-m{{m}}.timing.tsv"
    conda:
        "../envs/rnca.yaml"
    threads: workflow.cores or config["threads"]
    resources:
        mem_mb=growing(plan.rcca.mem_mb),
        runtime=growing(plan.rcca.minutes),
    params:
        experiment=plan.rcca.timed_experiment,
        code=code_of("rcca_timing.py"),
    script:
        "../scripts/rcca_timing.py"


# All cores, so that nothing runs beside it.
rule rcca_svd:
    input:
        data=plan.rcca.prepared,
    output:
        f"{RESULTS}/rcca/{{experiment}}/{{feature_map}}.svd.csv",
    log:
        f"{RESULTS}/logs/rcca/{{experiment}}/{{feature_map}}.svd.log",
    benchmark:
        f"{RESULTS}/benchmarks/rcca/{{experiment}}/{{feature_map}}.svd.tsv"
    conda:
        "../envs/rnca.yaml"
    threads: workflow.cores or config["threads"]
    resources:
        mem_mb=growing(plan.rcca.mem_mb),
        runtime=growing(plan.rcca.minutes),
    params:
        experiment=plan.rcca.decomposed_experiment,
        code=code_of("rcca_svd.py"),
    script:
        "../scripts/rcca_svd.py"


rule rcca_leaks:
    input:
        data=plan.rcca.prepared,
        split=plan.rcca.split,
    output:
        f"{RESULTS}/rcca/{{experiment}}/leaks.csv",
    log:
        f"{RESULTS}/logs/rcca/{{experiment}}/leaks.log",
    benchmark:
        f"{RESULTS}/benchmarks/rcca/{{experiment}}/leaks.tsv"
    conda:
        "../envs/rnca.yaml"
    params:
        code=code_of("rcca_leaks.py"),
    script:
        "../scripts/rcca_leaks.py"


# All fits of an experiment in one place, or the reason why there are none.
rule rcca_gather:
    input:
        sums=where_had(plan.rcca, plan.rcca.sums),
        leaks=where_had(plan.rcca, plan.rcca.leaks),
        not_had=why_not_had(plan.rcca),
    output:
        sums=f"{RESULTS}/rcca/{{experiment}}.sums.csv",
        leaks=f"{RESULTS}/rcca/{{experiment}}.leaks.csv",
    log:
        f"{RESULTS}/logs/rcca/{{experiment}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/rcca/{{experiment}}.tsv"
    conda:
        "../envs/rnca.yaml"
    params:
        dataset=plan.rcca.dataset,
        code=code_of("gather.py"),
    script:
        "../scripts/gather.py"


rule rcca_gather_more:
    input:
        more=where_had(plan.rcca, plan.rcca.more),
        not_had=why_not_had(plan.rcca),
    output:
        more=f"{RESULTS}/rcca/{{experiment}}.{{what}}.csv",
    log:
        f"{RESULTS}/logs/rcca/{{experiment}}.{{what}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/rcca/{{experiment}}.{{what}}.tsv"
    wildcard_constraints:
        what="tuning|timing|svd",
    conda:
        "../envs/rnca.yaml"
    params:
        dataset=plan.rcca.dataset,
        code=code_of("gather.py"),
    script:
        "../scripts/gather.py"


rule rcca_table:
    input:
        sums=plan.rcca.gathered("sums"),
        timing=plan.rcca.of_those_having("timing", "timing"),
        dcca=plan.rcca.baselines("dcca"),
        kcca=plan.rcca.baselines("kcca"),
        published="resources/paper/table1_rcca.csv",
    output:
        markdown=report(
            f"{RESULTS}/tables/rcca.md",
            caption="../report/rcca_table.rst",
            category="RCCA",
            labels={"what": "table"},
        ),
        latex=f"{RESULTS}/tables/rcca.tex",
        csv=f"{RESULTS}/tables/rcca.csv",
    log:
        f"{RESULTS}/logs/rcca_table.log",
    benchmark:
        f"{RESULTS}/benchmarks/rcca_table.tsv"
    conda:
        "../envs/rnca.yaml"
    params:
        published=plan.rcca.published(),
        titles=plan.rcca.main_titles(),
        code=code_of("rcca_table.py"),
    script:
        "../scripts/rcca_table.py"


rule rcca_leaks_table:
    input:
        leaks=plan.rcca.gathered("leaks"),
    output:
        markdown=report(
            f"{RESULTS}/tables/leaks.md",
            caption="../report/leaks_table.rst",
            category="RCCA",
            labels={"what": "leak audit"},
        ),
        csv=f"{RESULTS}/tables/leaks.csv",
    log:
        f"{RESULTS}/logs/rcca_leaks_table.log",
    benchmark:
        f"{RESULTS}/benchmarks/rcca_leaks_table.tsv"
    conda:
        "../envs/rnca.yaml"
    params:
        titles=plan.rcca.titles(),
        code=code_of("rcca_leaks_table.py"),
    script:
        "../scripts/rcca_leaks_table.py"


rule rcca_figure:
    input:
        table=rules.rcca_table.output.csv,
        published="resources/paper/table1_rcca.csv",
    output:
        report(
            f"{RESULTS}/figures/rcca.svg",
            caption="../report/rcca_figure.rst",
            category="RCCA",
            labels={"what": "figure"},
        ),
        f"{RESULTS}/figures/rcca.png",
    log:
        f"{RESULTS}/logs/rcca_figure.log",
    benchmark:
        f"{RESULTS}/benchmarks/rcca_figure.tsv"
    conda:
        "../envs/rnca.yaml"
    params:
        published=plan.rcca.published(),
        titles=plan.rcca.main_titles(),
        code=code_of("rcca_figure.py"),
    script:
        "../scripts/rcca_figure.py"


rule rcca_minutes:
    input:
        table=rules.rcca_table.output.csv,
        curve=plan.rcca.baselines("curve"),
        published="resources/paper/table1_rcca.csv",
    output:
        report(
            f"{RESULTS}/figures/rcca_minutes.svg",
            caption="../report/rcca_minutes.rst",
            category="RCCA",
            labels={"what": "correlation against minutes"},
        ),
        f"{RESULTS}/figures/rcca_minutes.png",
    log:
        f"{RESULTS}/logs/rcca_minutes.log",
    benchmark:
        f"{RESULTS}/benchmarks/rcca_minutes.tsv"
    conda:
        "../envs/rnca.yaml"
    params:
        published=plan.rcca.published(),
        titles=plan.rcca.main_titles(),
        code=code_of("rcca_minutes.py"),
    script:
        "../scripts/rcca_minutes.py"


rule rcca_tuning:
    input:
        tuning=plan.rcca.of_those_having("reg_grid", "tuning"),
    output:
        markdown=report(
            f"{RESULTS}/tables/rcca_tuning.md",
            caption="../report/rcca_tuning.rst",
            category="RCCA",
            labels={"what": "reg chosen on tuning rows, table"},
        ),
        csv=f"{RESULTS}/tables/rcca_tuning.csv",
        figure=report(
            f"{RESULTS}/figures/rcca_tuning.svg",
            caption="../report/rcca_tuning.rst",
            category="RCCA",
            labels={"what": "reg chosen on tuning rows, figure"},
        ),
        png=f"{RESULTS}/figures/rcca_tuning.png",
    log:
        f"{RESULTS}/logs/rcca_tuning.log",
    benchmark:
        f"{RESULTS}/benchmarks/rcca_tuning.tsv"
    conda:
        "../envs/rnca.yaml"
    params:
        regs=plan.rcca.regs(),
        titles=plan.rcca.titles(),
        code=code_of("rcca_tuning.py"),
    script:
        "../scripts/rcca_tuning.py"


rule rcca_variants:
    input:
        sums=plan.rcca.gathered("sums"),
    output:
        markdown=report(
            f"{RESULTS}/tables/rcca_variants.md",
            caption="../report/rcca_variants.rst",
            category="RCCA",
            labels={"what": "variants"},
        ),
        csv=f"{RESULTS}/tables/rcca_variants.csv",
    log:
        f"{RESULTS}/logs/rcca_variants.log",
    benchmark:
        f"{RESULTS}/benchmarks/rcca_variants.tsv"
    conda:
        "../envs/rnca.yaml"
    params:
        variants=plan.rcca.variants(),
        titles=plan.rcca.titles(),
        code=code_of("rcca_variants.py"),
    script:
        "../scripts/rcca_variants.py"


# For `snakemake rcca`: this stage, and the baselines that the settings put beside it.
rule rcca:
    input:
        plan.rcca.outputs(),
