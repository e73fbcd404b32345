"""`python tests/job_imports.py FAMILY`: JSON of the modules that jobs import and their digests do not hold; {} if there are none.

One job at scale smoke stands for all that have the same estimator and the same modules in their digest. It computes its first
point, and first the data that it reads. A module is executed once: what it imports then, every job imports that asks for it.
"""

import builtins
import importlib
import json
import sys
import tempfile
from collections import defaultdict
from importlib.machinery import SourceFileLoader
from pathlib import Path

from attention_limits.pipeline.base.provenance import INERT, PACKAGE, closure
from attention_limits.pipeline.experiments.estimator import Estimator
from attention_limits.pipeline.experiments.experiment import Experiment
from attention_limits.pipeline.experiments.grid import Chunk


def code_of(estimator: Estimator) -> set[str]:
    """The modules whose code the digests of the jobs of an estimator hold, with those of the data that it reads."""
    own = set().union(*(closure(root) for root in estimator.code_roots))
    return own if estimator.reads is None else own | code_of(estimator.reads)


class Imports:
    """The imports of this process, by the module that is being executed: of a running job by None.

    An import by a function that a module calls while it is executed is one of this module.
    """

    def __init__(self):
        self.by, self._executed = defaultdict(set), []
        statement, by_name = builtins.__import__, importlib._bootstrap._gcd_import
        execute = SourceFileLoader.exec_module

        def of_statement(name, globals=None, locals=None, fromlist=(), level=0):
            found = statement(name, globals, locals, fromlist, level)
            base = importlib.util.resolve_name("." * level + name, globals["__package__"]) if level else name
            self._note(base, *(f"{base}.{part}" for part in fromlist or ()))
            return found

        def of_name(name, package=None, level=0):
            found = by_name(name, package, level)
            self._note(found.__name__)
            return found

        def of_file(loader, module):
            self._executed.append(module.__name__)
            try:
                execute(loader, module)
            finally:
                self._executed.pop()

        builtins.__import__, importlib._bootstrap._gcd_import = of_statement, of_name
        SourceFileLoader.exec_module = of_file

    def _note(self, *names):
        executed = self._executed[-1] if self._executed else None
        for name in names:
            parts = name.split(".")
            if parts[0] == PACKAGE and name in sys.modules:
                self.by[executed].update(".".join(parts[: length + 1]) for length in range(len(parts)))

    def of_job(self) -> set[str]:
        """The modules of the package that the job has asked for, and all that these have imported."""
        found, open_ = set(), list(self.by[None])
        while open_:
            name = open_.pop()
            if name not in found:
                found.add(name)
                open_ += self.by[name]
        return found


def imported_by(imports: Imports, experiment: Experiment, estimator: Estimator) -> set[str]:
    """The modules of its family and of `numerics` that the first point of an estimator and its data import."""
    run_chunk = importlib.import_module(f"{PACKAGE}.pipeline.cubes.chunks").run_chunk
    families = (f"{PACKAGE}.{estimator.family}", f"{PACKAGE}.numerics")
    for name in [name for name in sys.modules if name.startswith(families)]:
        # A function that keeps its answers would import nothing.
        for value in vars(sys.modules[name]).values():
            if hasattr(value, "cache_clear") and getattr(value, "__module__", None) == name:
                value.cache_clear()
    imports.by[None].clear()
    first = Chunk({key: values[:1] for key, values in estimator.grid.items()}, [0])
    with tempfile.TemporaryDirectory() as results:
        parts = [(estimator.reads, chunk) for chunk in estimator.data_chunks(first)] + [(estimator, first)]
        for part, chunk in parts:
            output = Path(part.path(results, chunk))
            output.parent.mkdir(parents=True, exist_ok=True)
            run_chunk(experiment, part, chunk, 0, output, results)
    found = {name for name in imports.of_job() if name.startswith(families)}
    # Every chunk is written with the descriptions of its variables, which decide no number.
    return found - set(closure(f"{families[0]}.variables")) - INERT


if __name__ == "__main__":
    family = sys.argv[1]
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]
    imports = Imports()
    project = importlib.import_module(f"{PACKAGE}.pipeline.experiments.project")
    experiments = project.load_project(Path(__file__).parents[1], {"scale": "smoke"}).experiments[family]
    seen, missing = set(), {}
    for experiment in experiments.values():
        for estimator in experiment.estimators.values():
            code = code_of(estimator)
            kind = (estimator.name, *sorted(code))
            if kind not in seen and (beyond := imported_by(imports, experiment, estimator) - code):
                missing[f"{experiment.name}/{estimator.name}"] = sorted(beyond)
            seen.add(kind)
    print(json.dumps(missing))
