# Stage rcca: test correlation against the number of features (Table 1).
# A fit is accumulate (in shards, if asked for) -> merge and solve.

RCCA = config["rcca"]
RCCA_TITLES = {name: experiment["title"] for name, experiment in RCCA.items()}
RCCA_SUMS = [
    f"{RESULTS}/rcca/{name}/{feature_map}-{repeat}.sums.csv"
    for name, experiment in RCCA.items()
    for feature_map in experiment["maps"]
    for repeat in range(experiment["repeats"])
]


def rcca_data(wildcards):
    return f"{PREPARED}/{RCCA[wildcards.experiment]['dataset']}"


def rcca_shards(wildcards):
    """Shard files to merge; none if the fit makes its pass itself."""
    shards = RCCA[wildcards.experiment]["shards"]
    stem = f"{RESULTS}/rcca/{{experiment}}/{{feature_map}}-{{repeat}}.shard-"
    return [f"{stem}{shard}.npz" for shard in range(shards)] if shards > 1 else []


def rcca_experiment(wildcards):
    """The fit's settings, and no others: changing another experiment reruns nothing here."""
    experiment = RCCA[wildcards.experiment]
    return {
        "name": wildcards.experiment,
        "split": dict(experiment["split"]),
        "standardise": experiment["standardise"],
        "components": experiment["components"],
        "sizes": list(experiment["features"]),
        "reg": experiment["reg"],
        "feature_map": wildcards.feature_map,
        "repeat": int(wildcards.repeat),
        "seed": config["seed"],
    }


rule rcca_shard:
    input:
        data=rcca_data,
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
    params:
        experiment=rcca_experiment,
        shards=lambda wildcards: RCCA[wildcards.experiment]["shards"],
        code=code_version("rcca_shard.py"),
    script:
        "../scripts/rcca_shard.py"


rule rcca_path:
    input:
        data=rcca_data,
        shards=rcca_shards,
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
    params:
        experiment=rcca_experiment,
        code=code_version("rcca_path.py"),
    script:
        "../scripts/rcca_path.py"


rule rcca_table:
    input:
        sums=RCCA_SUMS,
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
    conda:
        "../../environment.yml"
    params:
        titles=RCCA_TITLES,
        code=code_version("rcca_table.py"),
    script:
        "../scripts/rcca_table.py"


rule rcca_figure:
    input:
        sums=RCCA_SUMS,
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
    conda:
        "../../environment.yml"
    params:
        titles=RCCA_TITLES,
        code=code_version("rcca_figure.py"),
    script:
        "../scripts/rcca_figure.py"
