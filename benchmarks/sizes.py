"""CPU time, memory and error at the sizes of scale `paper` and beyond: `python benchmarks/sizes.py [NAME ...]`, some hours.

Each size is one point of one replica (or of several, where replicas are the size) with its data, computed in its own process with
one thread. `size_cases.py` lists the cases. The results are kept in `benchmarks/sizes.json`, so a run measures only what is not
there; NAME is the beginning of an estimator (`potts_mlm`, `sequence_multi_index.gamp`). A size that would take more than
MOST_SECONDS or MOST_MEMORY by the growth of the smaller ones is left out. At the end the program writes the table of
docs/speed.md.
"""

import json
import math
import os
import resource
import subprocess
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile

from attention_limits.pipeline.base.files import write_text
from attention_limits.pipeline.experiments.experiment import load_experiment
from run import THREAD_VARIABLES, processor
from size_cases import CASES

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tools"))
RESULTS = Path(__file__).parent / "sizes.json"
# CPU seconds and MB of one size.
MOST_SECONDS, MOST_MEMORY = 600.0, 20_000.0
# The process of one size: it computes the cube, and prints the largest value of the variable of the error, or the mean of a flag.
PROGRAM = """
import json, sys
import numpy as np
import attention_limits as al
from attention_limits.pipeline.cubes.cube_bytes import is_flag
request, name = json.loads(sys.argv[1]), sys.argv[2]
cube = al.compute(**request)
if name:
    values = np.asarray(cube[name].values, dtype=float).ravel()
    values = values[np.isfinite(values)]
    flag = is_flag(name)
    print(json.dumps({"flag": flag, "value": float(values.mean() if flag else abs(values).max()) if values.size else None}))
"""
# The point of the start of the program: a closed formula.
START = {"estimator": "sequence_single_index.phase_lines", "grid": {"a": [1.0]}}


def sections_of(case):
    """The keys of a case at scale `paper`, by section: grid, model, solver, those of the data, replicas; the name of the data."""
    family, name = case.estimator.split(".")
    path = ROOT / "config" / family / "experiments" / f"{case.experiment}.yaml"
    estimator = load_experiment(path, "paper").all_estimators[name]
    sections = {name: dict(getattr(estimator, name)) for name in ("grid", "model", "solver")}
    sections |= {"data": {}, "": {"replicas": estimator.replicas}}
    reads = estimator.reads
    if reads is not None:
        sections["model"] = {**reads.model, **sections["model"]}
        sections["data"] = dict(reads.solver)
    return sections, reads and reads.name


def value_at_paper(case, sections):
    """The size of a case at scale `paper`."""
    if case.size.startswith("points of "):
        return len(sections["grid"][case.size.removeprefix("points of ")])
    values = [section[case.size] for section in sections.values() if section.get(case.size) is not None]
    return max(values[0]) if case.size in sections["grid"] else values[0]


def sizes_of(case, sections):
    """The sizes of a case: its factors times that at `paper`."""
    return [round(factor * value_at_paper(case, sections)) for factor in case.factors]


def request_of(case, size):
    """The arguments of `attention_limits.compute` for one size of a case."""
    sections, data = sections_of(case)
    points = case.size.removeprefix("points of ")
    grid = {key: [values[-1]] for key, values in sections["grid"].items()}
    if points != case.size:
        first, last = sections["grid"][points][0], sections["grid"][points][-1]
        grid[points] = {"start": first, "stop": last, "num": size}
    changes = dict(case.changes)
    if points == case.size:
        changes[case.size] = size
    # An instance for each replica: the first one.
    instance = sections["model"].get("instance")
    if isinstance(instance, list | tuple):
        sections["model"]["instance"] = instance[0]
    for key, value in changes.items():
        if key in grid:
            grid[key] = [value]
        for name in ("model", "solver", "data"):
            if sections[name].get(key) is not None:
                sections[name][key] = value
    known = {name: {key: value for key, value in sections[name].items() if value is not None} for name in sections}
    return {
        "estimator": case.estimator, "model": known["model"], "grid": grid, "solver": known["solver"],
        "replicas": changes.get("replicas", 1), "data": {data: known["data"]} if data else None,
    }  # fmt: skip


def measure(request, error):
    """CPU seconds, memory in MB and the error of one request, or None beyond MOST_SECONDS."""
    command = [sys.executable, "-c", PROGRAM, json.dumps(request), error or ""]
    environment = os.environ | dict.fromkeys(THREAD_VARIABLES, "1")
    limit = partial(resource.setrlimit, resource.RLIMIT_CPU, (int(1.1 * MOST_SECONDS), int(1.1 * MOST_SECONDS) + 5))
    with TemporaryFile("w+", encoding="utf-8") as log:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=log, text=True, preexec_fn=limit
        )
        output = process.stdout.read()
        # The resources of this process alone.
        _, status, usage = os.wait4(process.pid, 0)
        log.seek(0)
        errors = log.read()
    seconds = usage.ru_utime + usage.ru_stime
    if status and seconds > MOST_SECONDS:
        return None
    if status:
        raise RuntimeError(f"{json.dumps(request)}\n{errors}")
    found = json.loads(output.splitlines()[-1]) if error else None
    return {"seconds": round(seconds, 2), "memory": round(usage.ru_maxrss / 1024), "error": found}


def fits(found, size, start):
    """Whether a size needs at most MOST_SECONDS and MOST_MEMORY, by the growth between the last two that were measured."""
    if len(found) < 2:
        return True
    (small, less), (large, more) = found[-2:]
    # Half a second and 50 MB are the scatter of the start.
    for key, scatter, most in (("seconds", 0.5, MOST_SECONDS), ("memory", 50.0, MOST_MEMORY)):
        lower, upper = (max(row[key] - start[key], scatter) for row in (less, more))
        exponent = max(math.log(upper / lower) / math.log(large / small), 0.0)
        if start[key] + upper * (size / large) ** exponent > most:
            return False
    return True


def measure_case(case, start):
    """A row of the results. The first size runs twice, because its first run may compile."""
    sections, _ = sections_of(case)
    found = []
    for size in sizes_of(case, sections):
        if not fits(found, size, start):
            break
        request = request_of(case, size)
        if not found:
            measure(request, case.error)
        result = measure(request, case.error)
        if result is None:
            break
        found.append((size, result))
        print(f"  {case.size} = {size}: {result}", flush=True)
    if not found:
        raise RuntimeError(f"{case.name}: the first size takes more than {MOST_SECONDS:.0f} CPU seconds")
    return {
        "estimator": case.estimator, "experiment": case.experiment, "size": case.size, "changes": case.changes,
        "paper": value_at_paper(case, sections), "variable": case.error, "limit": case.limit, "start": start,
        "machine": processor(), "sizes": [{"size": size, **result} for size, result in found],
    }  # fmt: skip


def main():
    """Measure the cases that are not there, and write the results and the table."""
    import benchmark_tables

    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    missing = [case for case in CASES if case.name not in results]
    missing = [case for case in missing if not sys.argv[1:] or case.estimator.startswith(tuple(sys.argv[1:]))]
    start = None
    for case in missing:
        if start is None:
            measure(START, None)
            start = measure(START, None)
        print(case.name, flush=True)
        try:
            results[case.name] = measure_case(case, start)
        except RuntimeError as problem:
            print(f"  {problem}", file=sys.stderr, flush=True)
            continue
        ordered = {case.name: results[case.name] for case in CASES if case.name in results}
        write_text(RESULTS, json.dumps(ordered, indent=1, ensure_ascii=False) + "\n")
    benchmark_tables.write_sizes(ROOT)


if __name__ == "__main__":
    main()
