# The two steps every experiment takes: chunks, then one cube. Which experiments there are is told by config/.

# Paths in the shell lines are relative to the working directory, so that a line can be pasted from a log.
EXPERIMENTS = os.path.relpath(FOLDER / "config" / "experiments")
RESULTS = PROJECT.results
PROGRAM = f"{shlex.quote(sys.executable)} -m attention_limits"
RUN = (
    "{PROGRAM} run {EXPERIMENTS:q}/{wildcards.family}/{wildcards.experiment}.yaml"
    " --estimator {wildcards.estimator} --chunk {wildcards.chunk} --scale {PROJECT.scale} --seed {PROJECT.seed}"
    " --results {PROJECT.base:q} --threads {threads} --output {output:q} > {log:q} 2>&1"
    " || {{ status=$?; tail -n 20 {log:q} >&2; exit $status; }}"
)

CUBE_JOBS = PROJECT.cube_jobs()


def name_of(wildcards):
    return wildcards.family, wildcards.experiment, wildcards.estimator, wildcards.chunk


def chunk_job(wildcards):
    """Specification and code digest of a chunk or of data; those of an older layout have none."""
    return PROJECT.chunk_job(*name_of(wildcards))


def resources_of(wildcards):
    return PROJECT.part(wildcards.family, wildcards.experiment, wildcards.estimator).resources


def memory_of(wildcards, attempt):
    """Twice as much at each new attempt: a job that was killed for its memory has a chance."""
    return resources_of(wildcards)["memory"] * 2 ** (attempt - 1)


def minutes_of(wildcards, attempt):
    """Twice as long at each new attempt."""
    return resources_of(wildcards)["minutes"] * 2 ** (attempt - 1)


def drawing(wildcards):
    """On a cluster the last steps of a figure are one submission: a merge or a drawing alone takes seconds."""
    return None if workflow.local_exec else "drawing"


# Specification and code stand in `params`, so that Snakemake reruns exactly what an edit to either touches.
rule chunk:
    input:
        lambda wildcards: PROJECT.data_paths(*name_of(wildcards)),
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
        mem_mb=memory_of,
        runtime=minutes_of,
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
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime=lambda wildcards, attempt: 30 * attempt,
    group:
        drawing
    message:
        "{wildcards.family}/{wildcards.experiment}: merge {output}"
    shell:
        "{PROGRAM} merge {EXPERIMENTS:q}/{wildcards.family}/{wildcards.experiment}.yaml"
        " --scale {PROJECT.scale} --seed {PROJECT.seed} --results {PROJECT.base:q}"
        " --output {output:q} > {log:q} 2>&1"
        " || {{ status=$?; tail -n 20 {log:q} >&2; exit $status; }}"
