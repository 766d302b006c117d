# Stage rcca: test correlation against the number of features (Table 1), and what it is compared with.
# A fit is accumulate (in shards, if asked for) -> merge and solve.
from workflow.stages.rcca.settings import timed_repeats

rcca = settings.rcca
# What outlives a killed job of deep or kernel CCA; no output of a rule.
RCCA_STATE = f"{RESULTS}/state/rcca"


def fit_settings(w, **more):
    """Return the settings of a fit: changing another experiment reruns nothing here."""
    named = {"name": w.experiment, "feature_map": w.feature_map, "seed": settings.seed}
    return rcca[w.experiment].job(**named, repeat=int(getattr(w, "repeat", 0))) | more


def rcca_parts(what):
    """Return the parts of a gathered CSV, by experiment."""
    found = {}
    for name, each in rcca.items():
        fits = expand("{m}-{r}", m=each.maps, r=range(each.repeats))
        sizes = {kind: each.timing if kind != "linear" else each.timing[:1] for kind in each.maps}
        parts = {
            "sums": [f"{fit}.sums" for fit in fits],
            "regs": [f"{fit}.regs" for fit in fits if each.other_regs],
            "cv": expand("{m}-{r}.cv", m=each.maps, r=range(each.cv.repeats if each.cv else 0)),
            "inference": [f"{kind}.inference" for kind in each.maps if each.model],
            "leaks": ["leaks"],
            "timing": [f"{kind}-m{m}.timing" for kind in each.maps for m in sizes[kind]],
            "svd": [f"{kind}.svd" for kind in each.maps if kind != "linear" and each.timing][:1],
            "dcca": [f"{fit}.sums" for fit in each.deep_fits()],
            "curve": [f"{fit}.curve" for fit in each.deep_fits()],
            "search": [f"{fit}.search" for fit in each.deep_fits()],
            "kcca": ["kcca"] if each.kcca else [],
        }[what]
        if parts:
            found[name] = [f"{RESULTS}/rcca/{name}/{part}.csv" for part in parts]
    return found


def model_files(what):
    """Make an input function that lists a file of each kept model."""
    return lambda w: [
        f"{RESULTS}/rcca/{name}/{feature_map}.{what}"
        for name in rcca.modelled()
        if not is_unavailable(rcca[name].dataset)
        for feature_map in rcca[name].maps
    ]


PARTS["rcca"] = rcca_parts
rcca_shard = asks("stages/rcca/fit.py", lambda w: fit_settings(w, shards=rcca[w.experiment].shards))
rcca_fit = asks("stages/rcca/fit.py", fit_settings)
rcca_cv = asks("stages/rcca/cv.py", lambda w: fit_settings(w, **rcca[w.experiment].choice("cv")))
rcca_model = asks(
    "stages/rcca/model.py", lambda w: fit_settings(w, **rcca[w.experiment].choice("model"))
)
rcca_timing = asks(
    "stages/rcca/timing.py",
    lambda w: fit_settings(w, features=[int(w.m)], other_regs=[], times=timed_repeats(int(w.m))),
)
rcca_svd = asks(
    "stages/rcca/timing.py",
    lambda w: fit_settings(
        w,
        features=rcca[w.experiment].timing,
        other_regs=[],
        times=[timed_repeats(m) for m in rcca[w.experiment].timing],
    ),
)
rcca_leaks = asks("data/audit.py", {})
rcca_deep = asks(
    "stages/rcca/deep.py",
    lambda w: rcca[w.experiment].baseline(
        w.network, name=w.experiment, network=w.network, repeat=int(w.repeat), seed=settings.seed
    ),
)
rcca_kernel = asks(
    "stages/rcca/kernel.py",
    lambda w: rcca[w.experiment].baseline("kcca", name=w.experiment, repeat=0, seed=settings.seed),
)
rcca_report = asks(
    "stages/rcca/report.py",
    shows(
        "rcca",
        published=rcca.published(),
        titles=rcca.titles(),
        main_titles=rcca.main_titles(),
        regs={name: rcca[name].reg for name in rcca.chosen()},
        series=rcca.series(),
        variants=rcca.variants(),
        compared=rcca.compared(),
    ),
)


rule rcca_fit:
    input:
        request=rcca_fit.file,
        data=prepared(rcca),
        shards=lambda w: [
            f"{RESULTS}/rcca/{w.experiment}/{w.feature_map}-{w.repeat}.shard-{shard}.npz"
            for shard in range(rcca[w.experiment].shards)
            if rcca[w.experiment].shards > 1
        ],
    output:
        sums=f"{RESULTS}/rcca/{{experiment}}/{{feature_map}}-{{repeat}}.sums.csv",
        components=f"{RESULTS}/rcca/{{experiment}}/{{feature_map}}-{{repeat}}.components.csv",
        regs=f"{RESULTS}/rcca/{{experiment}}/{{feature_map}}-{{repeat}}.regs.csv",
        split=f"{RESULTS}/rcca/{{experiment}}/{{feature_map}}-{{repeat}}.split.npz",
    log:
        log_of("rcca/{experiment}/{feature_map}-{repeat}"),
    benchmark:
        benchmark_of("rcca/{experiment}/{feature_map}-{repeat}")
    conda:
        "../../envs/rnca.yaml"
    threads: settings.threads
    resources:
        mem_mb=growing(lambda w: rcca[w.experiment].mem_mb()),
        runtime=growing(120),
    params:
        request=rcca_fit.asked,
    script:
        "fit.py"


use rule rcca_fit as rcca_shard with:
    input:
        request=rcca_shard.file,
        data=prepared(rcca),
    output:
        temp(f"{RESULTS}/rcca/{{experiment}}/{{feature_map}}-{{repeat}}.shard-{{shard}}.npz"),
    log:
        log_of("rcca/{experiment}/{feature_map}-{repeat}.shard-{shard}"),
    benchmark:
        benchmark_of("rcca/{experiment}/{feature_map}-{repeat}.shard-{shard}")
    params:
        request=rcca_shard.asked,


rule rcca_cv:
    input:
        request=rcca_cv.file,
        data=prepared(rcca),
    output:
        f"{RESULTS}/rcca/{{experiment}}/{{feature_map}}-{{repeat}}.cv.csv",
    log:
        log_of("rcca/{experiment}/{feature_map}-{repeat}.cv"),
    benchmark:
        benchmark_of("rcca/{experiment}/{feature_map}-{repeat}.cv")
    conda:
        "../../envs/rnca.yaml"
    threads: settings.threads
    resources:
        mem_mb=growing(lambda w: rcca[w.experiment].mem_mb("cv")),
        runtime=growing(60),
    params:
        request=rcca_cv.asked,
    script:
        "cv.py"


# On the rows of the first repeat.
rule rcca_model:
    input:
        request=rcca_model.file,
        data=prepared(rcca),
    output:
        model=f"{RESULTS}/rcca/{{experiment}}/{{feature_map}}.model.npz",
        variables=f"{RESULTS}/rcca/{{experiment}}/{{feature_map}}.variables.npz",
        scores=f"{RESULTS}/rcca/{{experiment}}/{{feature_map}}.scores.csv",
        inference=f"{RESULTS}/rcca/{{experiment}}/{{feature_map}}.inference.csv",
        loadings=f"{RESULTS}/rcca/{{experiment}}/{{feature_map}}.loadings.csv",
    log:
        log_of("rcca/{experiment}/{feature_map}.model"),
    benchmark:
        benchmark_of("rcca/{experiment}/{feature_map}.model")
    conda:
        "../../envs/rnca.yaml"
    threads: settings.threads
    resources:
        mem_mb=growing(lambda w: rcca[w.experiment].mem_mb("model")),
        runtime=growing(120),
    params:
        request=rcca_model.asked,
    script:
        "model.py"


# All cores, so that nothing runs beside it; how many of them a fit uses is what is varied.
rule rcca_timing:
    input:
        request=rcca_timing.file,
        data=prepared(rcca),
    output:
        f"{RESULTS}/rcca/{{experiment}}/{{feature_map}}-m{{m}}.timing.csv",
    log:
        log_of("rcca/{experiment}/{feature_map}-m{m}.timing"),
    benchmark:
        benchmark_of("rcca/{experiment}/{feature_map}-m{m}.timing")
    conda:
        "../../envs/rnca.yaml"
    threads: workflow.cores or settings.threads
    resources:
        mem_mb=growing(lambda w: rcca[w.experiment].mem_mb()),
        runtime=growing(120),
    params:
        request=rcca_timing.asked,
    script:
        "timing.py"


use rule rcca_timing as rcca_svd with:
    input:
        request=rcca_svd.file,
        data=prepared(rcca),
    output:
        f"{RESULTS}/rcca/{{experiment}}/{{feature_map}}.svd.csv",
    log:
        log_of("rcca/{experiment}/{feature_map}.svd"),
    benchmark:
        benchmark_of("rcca/{experiment}/{feature_map}.svd")
    params:
        request=rcca_svd.asked,


# On the rows of the first repeat, which all feature maps share.
rule rcca_leaks:
    input:
        request=rcca_leaks.file,
        data=prepared(rcca),
        split=lambda w: f"{RESULTS}/rcca/{w.experiment}/{rcca[w.experiment].maps[0]}-0.split.npz",
    output:
        f"{RESULTS}/rcca/{{experiment}}/leaks.csv",
    log:
        log_of("rcca/{experiment}/leaks"),
    benchmark:
        benchmark_of("rcca/{experiment}/leaks")
    group:
        "report"
    conda:
        "../../envs/rnca.yaml"
    params:
        request=rcca_leaks.asked,
    script:
        "../../data/audit.py"


# All cores, so that nothing runs beside it while it is timed.
rule rcca_deep:
    input:
        request=rcca_deep.file,
        data=prepared(rcca),
    output:
        sums=f"{RESULTS}/rcca/{{experiment}}/{{network}}-{{repeat}}.sums.csv",
        curve=f"{RESULTS}/rcca/{{experiment}}/{{network}}-{{repeat}}.curve.csv",
        search=f"{RESULTS}/rcca/{{experiment}}/{{network}}-{{repeat}}.search.csv",
    log:
        log_of("rcca/{experiment}/{network}-{repeat}"),
    benchmark:
        benchmark_of("rcca/{experiment}/{network}-{repeat}")
    wildcard_constraints:
        network="dcca|dcca2013",
    conda:
        "../../envs/rnca.yaml"
    threads: workflow.cores or settings.threads
    resources:
        mem_mb=growing(lambda w: rcca[w.experiment].mem_mb("deep")),
        runtime=growing(120),
    params:
        request=rcca_deep.asked,
        state=RCCA_STATE,
    script:
        "deep.py"


rule rcca_kernel:
    input:
        request=rcca_kernel.file,
        data=prepared(rcca),
    output:
        f"{RESULTS}/rcca/{{experiment}}/kcca.csv",
    log:
        log_of("rcca/{experiment}/kcca"),
    benchmark:
        benchmark_of("rcca/{experiment}/kcca")
    conda:
        "../../envs/rnca.yaml"
    threads: workflow.cores or settings.threads
    resources:
        mem_mb=growing(lambda w: rcca[w.experiment].mem_mb("kcca")),
        runtime=growing(120),
    params:
        request=rcca_kernel.asked,
        state=RCCA_STATE,
    script:
        "kernel.py"


# `svd` is read by the claims alone.
rule rcca_report:
    input:
        request=rcca_report.file,
        sums=gathered("rcca", "sums"),
        leaks=gathered("rcca", "leaks"),
        timing=gathered("rcca", "timing"),
        svd=gathered("rcca", "svd"),
        inference=gathered("rcca", "inference"),
        loadings=model_files("loadings.csv"),
        variables=model_files("variables.npz"),
        regs=gathered("rcca", "regs"),
        cv=gathered("rcca", "cv"),
        dcca=gathered("rcca", "dcca"),
        curve=gathered("rcca", "curve"),
        search=gathered("rcca", "search"),
        kcca=gathered("rcca", "kcca"),
        published="resources/paper/table1_rcca.csv",
        layers="resources/paper/dcca_layers.csv",
    output:
        exhibits("rcca"),
        expand(
            f"{RESULTS}/tables/{{name}}",
            name=[
                "rcca.tex",
                "rcca.csv",
                "leaks.csv",
                *(["rcca_sizes.csv"] if rcca.published() else []),
                *(["rcca_cv.csv"] if rcca.chosen() else []),
                *(["rcca_regs.csv"] if rcca.with_other_regs() else []),
                *(["rcca_series.csv", "rcca_speakers.csv"] if rcca.series() else []),
                *(["rcca_variants.csv"] if rcca.variants() else []),
                *(["baselines.csv"] if rcca.compared() else []),
                *(["baselines_race.csv"] if rcca.raced() else []),
            ],
        ),
    log:
        log_of("rcca_report"),
    benchmark:
        benchmark_of("rcca_report")
    group:
        "report"
    conda:
        "../../envs/rnca.yaml"
    params:
        request=rcca_report.asked,
    script:
        "report.py"


# For `snakemake rcca`: this stage alone.
rule rcca:
    input:
        shown("rcca"),
