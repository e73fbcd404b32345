# The two steps every experiment takes: chunks, then one cube. Which experiments there are is told by config/.
from snakemake.settings.types import DeploymentMethod
from snakemake_interface_executor_plugins.executors.real import RealExecutor

from attention_limits.pipeline import provenance
from attention_limits.pipeline.damage import aside_lines, damaged_chunks, damaged_cubes, set_aside

# Paths in the lines of the shell are relative to the working directory, so that a line can be pasted from a log.
EXPERIMENTS = os.path.relpath(FOLDER / "config" / "experiments")
RESULTS = PROJECT.results
# What fails shows the end of its log.
SHELL = "{params.command} > {log:q} 2>&1 || {{ status=$?; tail -n 20 {log:q} >&2; exit $status; }}"

CUBE_JOBS = PROJECT.cube_jobs()


def with_quoted_python(line_of_job):
    """Snakemake quotes all words of the lines that it writes for a queue but the path of its Python, which may have a space."""
    plain, quoted = (f"{path} -m snakemake " for path in (sys.executable, shlex.quote(sys.executable)))
    return lambda executor, job: line_of_job(executor, job).replace(plain, quoted, 1)


RealExecutor.format_job_exec = with_quoted_python(RealExecutor.format_job_exec)


def with_conda():
    return DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method


# The digest of the code is that of the package which Snakemake has imported, so the jobs must run the same files.
if with_conda() and provenance.SOURCE.resolve() != (ROOT / "src" / provenance.PACKAGE).resolve():
    sys.exit(
        f"--sdm conda: the jobs would run {ROOT / 'src' / provenance.PACKAGE}, but Snakemake has imported "
        f"{provenance.SOURCE}; allowed: the same folder, from pip install --editable {shlex.quote(str(ROOT))}"
    )


def environment(wildcards):
    """The conda environment of a job. Without --sdm conda none, or each output would be noted as made in it."""
    file = str(ROOT / "envs" / "attention-limits.yaml")
    # Snakemake fills in braces here.
    return file.replace("{", "{{").replace("}", "}}") if with_conda() else None


def interpreter():
    """The Python of the jobs: the one that runs Snakemake, or that of their environment.

    The environment holds what the package needs but not the package, which would go stale in it, or be another
    checkout's where two share environments: PYTHONPATH lends it this checkout's. It is set here, since Snakemake
    keeps its own from such jobs. Packages in a user's home would come before those of the environment.
    """
    if not with_conda():
        return [sys.executable]
    return ["env", "PYTHONNOUSERSITE=1", f"PYTHONPATH={os.path.relpath(ROOT / 'src')}", "python"]


def name_of(wildcards):
    return wildcards.family, wildcards.experiment, wildcards.estimator, wildcards.chunk


def program(command, *arguments, results=True):
    """A line of the shell that calls the program, every word of it quoted."""
    run = ["--scale", PROJECT.scale, "--seed", PROJECT.seed, "--results", PROJECT.base] if results else []
    return shlex.join(map(str, [*interpreter(), "-m", provenance.PACKAGE, command, *arguments, *run]))


# Free texts are handed over by functions: in a plain string Snakemake would take {braces} for wildcards.
def text(value):
    return lambda wildcards: value


# Params that are made of the output are not compared with those of former runs: how a job is called decides no number.
def run_command(wildcards, output, threads):
    family, experiment, estimator, chunk = name_of(wildcards)
    file = f"{EXPERIMENTS}/{family}/{experiment}.yaml"
    options = ["--estimator", estimator, "--chunk", chunk, "--threads", threads, "--output", output]
    return program("run", file, *options)


def merge_command(wildcards, output):
    return program("merge", f"{EXPERIMENTS}/{wildcards.family}/{wildcards.experiment}.yaml", "--output", output)


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


def print_aside():
    """What was set aside, at the end of a run; `attention-limits summary` prints it too."""
    for line in aside_lines(RESULTS):
        print(line, file=sys.stderr)


@functools.cache
def set_damage_aside(find, *about):
    """Set damaged files aside before Snakemake plans what to make. A dry run only says what a run would do.

    This process does it, and none that it starts; a report or a list changes nothing.
    """
    if not workflow.is_main_process or workflow.executor_plugin is None or workflow.touch:
        return
    for path, problem in find(PROJECT, *about).items():
        what = "a run sets it aside" if workflow.dryrun else f"set aside as {set_aside(path)}"
        print(f"{problem}; {what}", file=sys.stderr)
        # Snakemake makes no file anew that is missing between others that are there, unless it is forced to.
        workflow.dag.forcefiles.add(str(path))


def chunks_of(wildcards):
    set_damage_aside(damaged_chunks, wildcards.family, wildcards.experiment)
    return PROJECT.chunk_paths(wildcards.family, wildcards.experiment)


def cubes_of(figure):
    def paths(wildcards):
        set_damage_aside(damaged_cubes, figure)
        return PROJECT.figure_cubes(figure)

    return paths


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
        command=run_command,
    log:
        RESULTS + "/logs/chunks/{family}/{experiment}/{estimator}/{chunk}.log",
    benchmark:
        RESULTS + "/benchmarks/chunks/{family}/{experiment}/{estimator}/{chunk}.tsv"
    conda:
        environment
    threads: lambda wildcards: resources_of(wildcards)["threads"]
    resources:
        mem_mb=memory_of,
        runtime=minutes_of,
    message:
        "{wildcards.family}/{wildcards.experiment}: {wildcards.estimator} {wildcards.chunk}"
    shell:
        SHELL


rule cube:
    input:
        chunks_of,
    output:
        RESULTS + "/cubes/{family}/{experiment}.nc",
    params:
        digest=lambda wildcards: CUBE_JOBS[wildcards.family, wildcards.experiment],
        command=merge_command,
    log:
        RESULTS + "/logs/cubes/{family}/{experiment}.log",
    benchmark:
        RESULTS + "/benchmarks/cubes/{family}/{experiment}.tsv"
    conda:
        environment
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime=lambda wildcards, attempt: 30 * attempt,
    group:
        drawing
    message:
        "{wildcards.family}/{wildcards.experiment}: merge {output}"
    shell:
        SHELL
