# `snakemake` makes every cube and figure; `snakemake <family>` or `snakemake <figure>` makes a part.
import os
import shlex
import sys
from pathlib import Path

from snakemake.utils import min_version

from attention_limits.interface.extras import extras
from attention_limits.pipeline.base import provenance
from attention_limits.pipeline.base.errors import SpecError

min_version("9.0")

# The folder of this file, also when another workflow uses it as a module.
ROOT = Path(workflow.current_basedir.get_path_or_uri(secret_free=False))
if problem := provenance.other_code(ROOT):
    sys.exit(problem)


configfile: ROOT / "config" / "config.yaml"


report: "workflow/report/_workflow.rst"


# Everything is validated here, before any job.
FOLDER = Path(config.get("project", ROOT))
try:
    with extras():
        from attention_limits.pipeline.experiments.project import load_project

        PROJECT = load_project(FOLDER, config)
except (SpecError, MemoryError) as error:
    sys.exit(f"{error}")
for note in PROJECT.unchanged:
    print(note, file=sys.stderr)


wildcard_constraints:
    experiment="[a-z][a-z0-9_]*",
    chunk="[A-Za-z0-9_.-]+",


rule all:
    default_target: True
    input:
        [path for family in PROJECT.experiments for path in PROJECT.targets(family)],
        lambda wildcards: AUDIT if PUBLISHED else [],
    localrule: True


include: "workflow/rules/common.smk"
include: "workflow/rules/estimators.smk"
include: "workflow/rules/cubes.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/audit.smk"
include: "workflow/rules/landing.smk"
include: "workflow/rules/families.smk"
# The last one, after all rules.
include: "workflow/rules/targets.smk"
