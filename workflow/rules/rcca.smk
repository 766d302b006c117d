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
        "../../environment.yml"
    threads: config["threads"]
    resources:
        mem_mb=plan.rcca.mem_mb,
        runtime=plan.rcca.minutes,
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
        split=f"{RESULTS}/rcca/{{experiment}}/{{feature_map}}-{{repeat}}.split.npz",
    log:
        f"{RESULTS}/logs/rcca/{{experiment}}/{{feature_map}}-{{repeat}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/rcca/{{experiment}}/{{feature_map}}-{{repeat}}.tsv"
    conda:
        "../../environment.yml"
    threads: config["threads"]
    resources:
        mem_mb=plan.rcca.mem_mb,
        runtime=plan.rcca.minutes,
    params:
        experiment=plan.rcca.experiment,
        code=code_of("rcca_path.py"),
    script:
        "../scripts/rcca_path.py"


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
        "../../environment.yml"
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
        "../../environment.yml"
    params:
        dataset=plan.rcca.dataset,
        code=code_of("gather.py"),
    script:
        "../scripts/gather.py"


rule rcca_table:
    input:
        sums=plan.rcca.gathered("sums"),
        published="resources/paper/table1_rcca.csv",
    output:
        markdown=report(
            f"{RESULTS}/tables/rcca.md",
            caption="../report/rcca_table.rst",
            category="RCCA",
            labels={"what": "table"},
        ),
        csv=f"{RESULTS}/tables/rcca.csv",
    log:
        f"{RESULTS}/logs/rcca_table.log",
    benchmark:
        f"{RESULTS}/benchmarks/rcca_table.tsv"
    conda:
        "../../environment.yml"
    params:
        published=plan.rcca.published(),
        titles=plan.rcca.titles(),
        code=code_of("rcca_table.py"),
    script:
        "../scripts/rcca_table.py"


rule rcca_leaks_table:
    input:
        leaks=plan.rcca.gathered("leaks"),
    output:
        markdown=report(
            f"{RESULTS}/tables/leaks.md",
            caption="../report/rcca_leaks_table.rst",
            category="RCCA",
            labels={"what": "leak audit"},
        ),
        csv=f"{RESULTS}/tables/leaks.csv",
    log:
        f"{RESULTS}/logs/rcca_leaks_table.log",
    benchmark:
        f"{RESULTS}/benchmarks/rcca_leaks_table.tsv"
    conda:
        "../../environment.yml"
    params:
        titles=plan.rcca.titles(),
        code=code_of("rcca_leaks_table.py"),
    script:
        "../scripts/rcca_leaks_table.py"


rule rcca_figure:
    input:
        sums=plan.rcca.gathered("sums"),
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
        "../../environment.yml"
    params:
        published=plan.rcca.published(),
        titles=plan.rcca.titles(),
        code=code_of("rcca_figure.py"),
    script:
        "../scripts/rcca_figure.py"


# For `snakemake rcca`: this stage alone.
rule rcca:
    input:
        plan.rcca.outputs(),
