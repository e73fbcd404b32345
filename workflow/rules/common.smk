# The two steps every experiment takes: chunks, then one cube. Which experiments there are is told by config/.

# Paths in the shell lines are relative to the working directory, so that a line can be pasted from a log.
EXPERIMENTS = os.path.relpath(ROOT / "config" / "experiments")
RUN = (
    "{PROGRAM} run {EXPERIMENTS:q}/{wildcards.family}/{wildcards.experiment}.yaml"
    " --estimator {wildcards.estimator} --chunk {wildcards.chunk} --scale {PROJECT.scale} --seed {PROJECT.seed}"
    " --threads {threads} --output {output:q} > {log:q} 2>&1"
    " || {{ status=$?; tail -n 20 {log:q} >&2; exit $status; }}"
)

CHUNK_JOBS = PROJECT.chunk_jobs()
CUBE_JOBS = PROJECT.cube_jobs()
DATA_PATHS = PROJECT.data_paths()


def name_of(wildcards):
    return wildcards.family, wildcards.experiment, wildcards.estimator, wildcards.chunk


def chunk_job(wildcards):
    """Specification and code digest of a chunk or of data; those of an older layout have none."""
    return CHUNK_JOBS[name_of(wildcards)]


def resources_of(wildcards):
    experiment = PROJECT.experiments[wildcards.family][wildcards.experiment]
    return {**experiment.data, **experiment.estimators}[wildcards.estimator].resources


# Specification and code stand in `params`, so that Snakemake reruns exactly what an edit to either touches.
rule chunk:
    input:
        lambda wildcards: DATA_PATHS.get(name_of(wildcards), []),
    output:
        RESULTS + "/chunks/{family}/{experiment}/{estimator}/{chunk}.nc",
    params:
        spec=lambda wildcards: chunk_job(wildcards)["spec"],
        code=lambda wildcards: chunk_job(wildcards)["code"],
        seed=PROJECT.seed,
    log:
        RESULTS + "/logs/chunks/{family}/{experiment}/{estimator}/{chunk}.log",
    benchmark:
        RESULTS + "/benchmarks/chunks/{family}/{experiment}/{estimator}/{chunk}.tsv"
    threads: lambda wildcards: resources_of(wildcards)["threads"]
    resources:
        mem_mb=lambda wildcards: resources_of(wildcards)["memory"],
        runtime=lambda wildcards: resources_of(wildcards)["minutes"],
    message:
        "{wildcards.family}/{wildcards.experiment}: {wildcards.estimator} {wildcards.chunk}"
    shell:
        RUN


rule cube:
    input:
        lambda wildcards: PROJECT.chunk_paths(wildcards.family, wildcards.experiment),
    output:
        RESULTS + "/cubes/{family}/{experiment}.nc",
    params:
        digest=lambda wildcards: CUBE_JOBS[wildcards.family, wildcards.experiment],
    log:
        RESULTS + "/logs/cubes/{family}/{experiment}.log",
    benchmark:
        RESULTS + "/benchmarks/cubes/{family}/{experiment}.tsv"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    message:
        "{wildcards.family}/{wildcards.experiment}: merge {output}"
    shell:
        "{PROGRAM} merge {EXPERIMENTS:q}/{wildcards.family}/{wildcards.experiment}.yaml"
        " --scale {PROJECT.scale} --seed {PROJECT.seed} --output {output:q} > {log:q} 2>&1"
        " || {{ status=$?; tail -n 20 {log:q} >&2; exit $status; }}"
