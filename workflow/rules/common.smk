# Common to all rules: the shell line, the params that decide the numbers, resources.
import functools
import json

from snakemake.settings.types import DeploymentMethod
from snakemake_interface_executor_plugins.executors.real import RealExecutor

from attention_limits.pipeline import provenance
from attention_limits.pipeline.attributes import digest_of_picture, is_outdated
from attention_limits.pipeline.experiment import SECTIONS, load_family
from attention_limits.pipeline.files import canonical_json

# A job whose output was made from something else has this file as an input, which is younger than every output.
OUTDATED = Path.cwd() / ".snakemake" / "outdated_output"
OUTDATED.parent.mkdir(exist_ok=True)
OUTDATED.touch()


def if_outdated(path, wanted):
    """The file OUTDATED, in a list, if the file `path` was made from another specification, seed or code.

    Snakemake compares params only with its own records, which lie in the working directory. Results that another checkout has made
    have no record, or an old one; their attributes are always true.
    """
    return [OUTDATED] if is_outdated(path, wanted) else []


@functools.cache
def outdated_cube(family, experiment):
    """As `if_outdated`, for the cube of an experiment."""
    item = PROJECT.experiments[family][experiment]
    return if_outdated(item.cube_path(RESULTS), {"cube_digest": item.digest(RUN.seed)})


def escaped(text):
    """The text with its {braces} doubled, where Snakemake would read them as names."""
    return str(text).replace("{", "{{").replace("}", "}}")


RUN = PROJECT.run
RESULTS = RUN.folder
# Snakemake formats this path.
ENVIRONMENT = escaped(ROOT / "envs" / "attention-limits.yaml")
# A job that fails shows the end of its log.
SHELL = "{params.command} > {log:q} 2>&1 || {{ status=$?; tail -n 20 {log:q} >&2; exit $status; }}"

# The jobs run this checkout, with the Python that runs Snakemake or, under `--sdm conda`, with that of their environment.
_SOURCE, _BIN = (shlex.quote(str(path)) for path in (provenance.SOURCE.parent, Path(sys.executable).parent))
# Under `--sdm conda` Snakemake activates the environment before this line; then the line must not put another Python first.
_PATH = "" if DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method else f'PATH={_BIN}:"$PATH" '
_PREFIX = f"export {_PATH}PYTHONPATH={_SOURCE} PYTHONNOUSERSITE=1; "
shell.prefix(escaped(_PREFIX))


def with_quoted_python(line_of_job):
    """Quotes the path of Python, which may have a space: in the lines for a queue Snakemake quotes all words except this one."""
    plain, quoted = (f"{path} -m snakemake " for path in (sys.executable, shlex.quote(sys.executable)))
    return lambda executor, job: line_of_job(executor, job).replace(plain, quoted, 1)


RealExecutor.format_job_exec = with_quoted_python(RealExecutor.format_job_exec)


onstart:
    # For its usual limit of 100 jobs in a second, Snakemake 9.27 starts a timer whenever it looks at the waiting jobs, and looks again
    # when the timer ends: one endless chain for each finished job. After some hundred jobs this takes a core. The limit of a user stays.
    limit = workflow.scheduler.job_rate_limiter
    if limit and (limit.max_jobs, limit.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None


def program(command, *arguments, results=True):
    """A shell line that calls the program, with every word quoted."""
    run = ["--scale", RUN.scale, "--seed", RUN.seed, "--results", RUN.results] if results else []
    if results and RUN.set:
        run += ["--set", json.dumps(RUN.set)]
    return shlex.join(map(str, ["python", "-m", provenance.PACKAGE, command, *arguments, *run]))


def experiment_file(family, experiment):
    """The path relative to the working directory, so that a user can copy the line from a log."""
    return f"{os.path.relpath(FOLDER)}/config/{family}/experiments/{experiment}.yaml"


# A function returns a free text, because in a plain string Snakemake would read {braces} as wildcards.
def text(value):
    return lambda wildcards: value


class Jobs:
    """The jobs of one rule, which computes one estimator or one kind of data of a family: inputs, params, resources.

    Snakemake does not compare params that depend on the output with those of former runs: the command line decides no number.
    """

    def __init__(self, family, section, name):
        self.family, self.name = family, name
        self.rule = load_family(family).rule(name)
        self.message = f"{family}/{{wildcards.experiment}}: {name} {{wildcards.chunk}}"
        self.path = f"{'data' if section == 'data' else 'chunks'}/{family}/{{experiment}}/{name}/{{chunk}}"

    def estimator(self, wildcards):
        return PROJECT.experiments[self.family][wildcards.experiment].all_estimators[self.name]

    def data(self, wildcards):
        estimator = self.estimator(wildcards)
        chunks = estimator.data_chunks(estimator.chunk[wildcards.chunk]) if estimator.reads else []
        return [estimator.reads.path(RESULTS, chunk) for chunk in chunks]

    def outdated(self, wildcards):
        """As `if_outdated`. If the cube is current, its chunks and data are; thousands of files are then not opened."""
        estimator = self.estimator(wildcards)
        if Path(
            PROJECT.experiments[self.family][wildcards.experiment].cube_path(RESULTS)
        ).exists() and not outdated_cube(self.family, wildcards.experiment):
            return []
        chunk = estimator.chunk[wildcards.chunk]
        return if_outdated(estimator.path(RESULTS, chunk), estimator.attributes(chunk, RUN.seed))

    def spec(self, wildcards):
        estimator = self.estimator(wildcards)
        return canonical_json(estimator.effective(estimator.chunk[wildcards.chunk]))

    def code(self, wildcards):
        return self.estimator(wildcards).code

    def command(self, wildcards, output, threads):
        file = experiment_file(self.family, wildcards.experiment)
        options = ["--estimator", self.name, "--chunk", wildcards.chunk, "--threads", threads, "--output", output]
        return program("run", file, *options)

    def threads(self, wildcards):
        return self.estimator(wildcards).resources["threads"]

    def memory(self, wildcards, attempt):
        """Twice as much at each new attempt, for a job that was killed because of its memory."""
        return self.estimator(wildcards).resources["memory"] * 2 ** (attempt - 1)

    def minutes(self, wildcards, attempt):
        """Twice as long at each new attempt."""
        return self.estimator(wildcards).resources["minutes"] * 2 ** (attempt - 1)


def jobs():
    """One entry for each rule: all kinds of data, then all estimators, that the selected experiments use."""
    return [
        Jobs(family, section, name)
        for section in SECTIONS
        for family, experiments in PROJECT.experiments.items()
        for name in sorted({name for item in experiments.values() for name in getattr(item, section)})
    ]


def audit_command(wildcards, output):
    options = ["--project", os.path.relpath(FOLDER), "--output", output[0], "--digest", AUDIT_DIGEST]
    options += ["--families", *PROJECT.experiments]
    return program("audit", *options)


def drawing(wildcards):
    """On a cluster the last steps of a figure are one submission: a merge or a drawing alone takes seconds."""
    return None if workflow.local_exec else "drawing"
