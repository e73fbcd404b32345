# Common to all rules: the environment of the shell lines, params, resources. A job that fails shows the end of its log.
import json

from snakemake.exceptions import WorkflowError
from snakemake.settings.types import DeploymentMethod

from attention_limits.pipeline.base import provenance
from attention_limits.pipeline.base.attributes import numbers_of_picture
from attention_limits.pipeline.base.files import canonical_json, require_place
from attention_limits.pipeline.experiments.experiment import SECTIONS, load_family
from attention_limits.pipeline.experiments.figures import filled


def escaped(text):
    """The text with its {braces} doubled, where Snakemake would read them as names."""
    return str(text).replace("{", "{{").replace("}", "}}")


RUN = PROJECT.run
RESULTS = RUN.folder
# Snakemake formats this path.
ENVIRONMENT = escaped(ROOT / "envs" / "attention-limits.yaml")

# The jobs run this checkout, with the Python that runs Snakemake or, under `--sdm conda`, with that of their environment.
_SOURCE, _BIN = (shlex.quote(str(path)) for path in (provenance.SOURCE.parent, Path(sys.executable).parent))
# Under `--sdm conda` Snakemake activates the environment before this line; then the line must not put another Python first.
_PATH = "" if DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method else f'PATH={_BIN}:"$PATH" '
_PREFIX = f"export {_PATH}PYTHONPATH={_SOURCE} PYTHONNOUSERSITE=1; "
shell.prefix(escaped(_PREFIX))


onstart:
    try:
        require_place(Path(RESULTS, "index.html"))
    except (OSError, SpecError) as error:
        raise WorkflowError(f"results: {error}") from None
    # In the line of a job for a queue Snakemake does not quote the path of its Python: github.com/snakemake/snakemake/issues/3211.
    if not workflow.local_exec and shlex.quote(sys.executable) != sys.executable:
        raise WorkflowError(
            f"{sys.executable}: Snakemake cannot start a Python with a space or another such character in its path in a job of a "
            f"queue; link its environment, and start the Python of the link: ln -s {shlex.quote(sys.prefix)} ~/limits.venv && "
            "~/limits.venv/bin/python -m snakemake"
        )


# Snakemake runs a job again if its params are not those of the job that made the output. It does not compare params whose function
# takes the output. The three functions below take the output: they name files and options, and decide no number.
def run_options(wildcards, output):
    words = ["--scale", RUN.scale, "--seed", RUN.seed, "--results", RUN.results]
    words += ["--set", json.dumps(RUN.set)] if RUN.set else []
    return shlex.join(map(str, words))


def project_folder(wildcards, output):
    return os.path.relpath(FOLDER)


def experiment_file(family):
    """The path relative to the working directory, so that a user can copy the line from a log."""
    return lambda wildcards, output: os.path.normpath(
        os.path.join(os.path.relpath(FOLDER), "config", family, "experiments", f"{wildcards.experiment}.yaml")
    )


# A function returns a free text, because in a plain string Snakemake would read {braces} as wildcards.
def text(value):
    return lambda wildcards: value


def doubled(amount):
    """A resource that doubles at each new attempt, for a job that was killed because of its memory or its time."""
    return lambda wildcards, attempt: amount * 2 ** (attempt - 1)


# The params of a job that draws a figure, for the report: its caption with the numbers that the picture holds.
def caption_of(figure):
    raw = figure.caption.read_text(encoding="utf-8")
    return lambda wildcards, output: filled(raw, numbers_of_picture(output.png))


# Finished experiments are merged and drawn at once.
AT_ONCE = 10**6


class Jobs:
    """The jobs of one rule, which computes one estimator or one kind of data of a family: inputs, params, resources."""

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

    def spec(self, wildcards):
        estimator = self.estimator(wildcards)
        return canonical_json(estimator.effective(estimator.chunk[wildcards.chunk]))

    def code(self, wildcards):
        return self.estimator(wildcards).code

    def priority(self, wildcards):
        """The minutes of a job, or those of the longest job that reads its data: long jobs start early, so that none is alone
        at the end."""
        mine = self.estimator(wildcards)
        readers = PROJECT.experiments[self.family][wildcards.experiment].all_estimators.values()
        return max(item.resources["minutes"] for item in readers if mine in (item, item.reads))

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


def drawing(wildcards):
    """On a cluster the last steps of a figure are one submission: a merge or a drawing alone takes seconds."""
    return None if workflow.local_exec else "drawing"
