"""`python tests/job_imports.py FAMILY`: JSON of the modules that jobs import and their digests do not hold; {} if there are none.

One job at scale smoke stands for all that have the same estimator and the same modules in their digest. It computes its first
point, and first the data that it reads. The modules of this package are imported anew for each job.
"""

import importlib
import json
import sys
import tempfile
from pathlib import Path

from attention_limits.pipeline.base.provenance import INERT, PACKAGE, closure
from attention_limits.pipeline.experiments.estimator import Estimator
from attention_limits.pipeline.experiments.experiment import Experiment
from attention_limits.pipeline.experiments.grid import Chunk
from attention_limits.pipeline.experiments.project import load_project


def code_of(estimator: Estimator) -> set[str]:
    """The modules whose code the digests of the jobs of an estimator hold, with those of the data that it reads."""
    own = set().union(*(closure(root) for root in estimator.code_roots))
    return own if estimator.reads is None else own | code_of(estimator.reads)


def imported_by(experiment: Experiment, estimator: Estimator) -> set[str]:
    """The modules of its family and of `numerics` that the first point of an estimator and its data import."""
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]
    run_chunk = importlib.import_module(f"{PACKAGE}.pipeline.cubes.chunks").run_chunk
    first = Chunk({key: values[:1] for key, values in estimator.grid.items()}, [0])
    with tempfile.TemporaryDirectory() as results:
        parts = [(estimator.reads, chunk) for chunk in estimator.data_chunks(first)] + [(estimator, first)]
        for part, chunk in parts:
            output = Path(part.path(results, chunk))
            output.parent.mkdir(parents=True, exist_ok=True)
            run_chunk(experiment, part, chunk, 0, output, results)
    families = (f"{PACKAGE}.{estimator.family}", f"{PACKAGE}.numerics")
    found = {name for name in sys.modules if name.startswith(families)}
    # Every chunk is written with the descriptions of its variables, which decide no number.
    return found - set(closure(f"{families[0]}.variables")) - INERT


if __name__ == "__main__":
    family = sys.argv[1]
    experiments = load_project(Path(__file__).parents[1], {"scale": "smoke"}).experiments[family]
    seen, missing = set(), {}
    for experiment in experiments.values():
        for estimator in experiment.estimators.values():
            code = code_of(estimator)
            kind = (estimator.name, *sorted(code))
            if kind not in seen and (beyond := imported_by(experiment, estimator) - code):
                missing[f"{experiment.name}/{estimator.name}"] = sorted(beyond)
            seen.add(kind)
    print(json.dumps(missing))
