"""Compiled code from the disk: private helpers, and none from an earlier state of the code."""

import ast
import math
import os
import shutil
import subprocess
import sys

import pytest

from attention_limits.numerics import compiled

# Too long for LLVM to put it into its caller twice.
PROGRAM = """
import math
from attention_limits.numerics.compiled import njit

@njit
def helper(x):
    total = 0.0
    for k in range(1000):
        total += math.exp(-x * k) + math.sin(x + k) * math.log(1.0 + x * k) + math.atan(x) / (1.0 + k * x)
        for l in range(k):
            total += math.cos(total) * math.sqrt(1.0 + total * total) + math.tanh(x * l) + math.exp(math.sin(total))
    return total

@njit
def caller(x):
    return helper(x) + helper(2.0 * x) * helper(3.0 * x) + helper(5.0 * x)

print(caller(0.1).hex(), sum(caller.stats.cache_hits.values()), end="")
if not caller.stats.cache_hits:
    (text,) = caller.inspect_llvm().values()
    print("", text.count("define internal"), text.count("linkonce_odr"), end="")
"""


@pytest.mark.slow
def test_code_from_the_cache_brings_its_own_helpers(tmp_path):
    """A function that shares a helper with others would compute with the copy that the linker saw first."""
    (tmp_path / "program.py").write_text(PROGRAM)

    def result():
        return subprocess.run(
            [sys.executable, "program.py"],
            cwd=tmp_path,
            env={"XDG_CACHE_HOME": str(tmp_path)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split()

    value, hits, helpers, shared = result()
    assert (hits, shared) == ("0", "0")
    assert int(helpers) >= 1
    assert result() == [value, "1"]


@pytest.mark.slow
def test_a_second_copy_of_the_package_compiles_nothing(tmp_path):
    """The same kernel of two copies in different folders, of different age."""
    program = (
        "import numpy as np; from attention_limits.numerics.simd.copying_kernels import copy_vector; "
        "copy_vector(np.ones(2), np.ones(2)); stats = copy_vector.stats; "
        "print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()), end='')"
    )
    found = []
    for name in ("first", "second folder"):
        copy = tmp_path / name / "attention_limits"
        shutil.copytree(
            compiled.PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"), copy_function=shutil.copyfile
        )
        environment = {
            **os.environ,
            "PYTHONPATH": str(copy.parent),
            "XDG_CACHE_HOME": str(tmp_path),
            "NUMBA_CACHE_DIR": "",
        }
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, cwd=tmp_path, check=True, capture_output=True, text=True
        )
        found.append(done.stdout)
    assert found == ["0 1", "1 0"]


def test_an_edit_changes_the_digest_of_what_imports_the_file_and_of_nothing_else(tmp_path, monkeypatch):
    package = tmp_path / "attention_limits"
    files = {
        "numerics/a.py": "x = 1\n",
        "family/b_kernels.py": "from attention_limits.numerics.a import (\n    x,\n)\n",
        "family/deep/c_kernels.py": "from attention_limits.family import b_kernels\n",
        "family/d_kernels.py": "import math\n",
    }
    for name, text in files.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    monkeypatch.setattr(compiled, "PACKAGE", package)

    def digests():
        for function in (compiled.code_files, compiled.code_digest, compiled._imported):
            function.cache_clear()
        return {name: compiled.code_digest(package / name) for name in files}

    before = digests()
    assert len(set(before.values())) == 4
    (package / "numerics/a.py").write_text("x = 2\n")
    after = digests()
    assert [name for name in files if after[name] == before[name]] == ["family/d_kernels.py"]
    (package / "family/d_kernels.py").write_text("import math  # more\n")
    last = digests()
    assert [name for name in files if last[name] != after[name]] == ["family/d_kernels.py"]
    digests()


def test_old_code_is_removed_and_a_folder_that_cannot_be_written_is_no_error(tmp_path, monkeypatch):
    old = tmp_path / "attention-limits" / "old"
    recent = tmp_path / "attention-limits" / "recent"
    for folder in (old, recent):
        folder.mkdir(parents=True)
    os.utime(old, (0, 0))
    monkeypatch.setattr(compiled.config, "CACHE_DIR", str(tmp_path))
    assert compiled._cache_folder() == tmp_path / "attention-limits"
    assert [recent.exists(), old.exists()] == [True, False]
    monkeypatch.setattr(compiled.config, "CACHE_DIR", "/dev/null")
    assert compiled._cache_folder() is None


def test_functions_that_take_functions_are_not_kept():
    """The cache would keep the function too; another process could not read it where the module of this function is missing."""
    jitted = [
        (path, node, [text for text in map(ast.unparse, node.decorator_list) if text.startswith("njit")])
        for path in sorted(compiled.PACKAGE.rglob("*_kernels.py"))
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.FunctionDef)
    ]
    # By name: the places of the parameters that are called, by the function itself or by another one that gets them.
    taken = {}
    while True:
        found = {node.name: _called(node, taken) for _, node, decorators in jitted if decorators}
        found = {name: places for name, places in found.items() if places}
        if found == taken:
            break
        taken = found
    assert len(taken) >= 2
    kept = [
        f"{path.name}: {node.name}"
        for path, node, decorators in jitted
        if decorators and node.name in taken and "cache=False" not in decorators[0]
    ]
    assert kept == []


def _called(node, taken):
    names, places = [argument.arg for argument in node.args.args], set()
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            passed = [call.args[place] for place in taken.get(call.func.id, ()) if place < len(call.args)]
            places |= {names.index(item.id) for item in (call.func, *passed) if getattr(item, "id", None) in names}
    return places


SMALL = """
from attention_limits.numerics.compiled import njit

@njit
def total(n):
    found = 0.0
    for k in range(n):
        found += 1.0 / (1.0 + k)
    return found

print(total(1000).hex(), sum(total.stats.cache_hits.values()))
"""


@pytest.fixture
def started(tmp_path):
    """A function that starts the small program with the cache of `tmp_path` and further variables of the environment."""
    (tmp_path / "small.py").write_text(SMALL)

    def start(**variables):
        return subprocess.Popen(
            [sys.executable, "small.py"],
            cwd=tmp_path,
            env={"XDG_CACHE_HOME": str(tmp_path), **variables},
            stdout=subprocess.PIPE,
            text=True,
        )

    return start


EXPECTED = math.fsum(1.0 / (1.0 + k) for k in range(1000))


def finished(process):
    """The value and the number of hits of the cache that a program prints."""
    printed, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    value, hits = printed.split()
    assert float.fromhex(value) == pytest.approx(EXPECTED, rel=1e-12)
    return value, int(hits)


@pytest.mark.slow
def test_two_processes_share_an_empty_cache(started):
    """Each one finds no code, a part of it or all of it, and computes the same bytes; the third one compiles nothing."""
    both = [started(), started()]
    values = {finished(process)[0] for process in both}
    assert len(values) == 1
    assert finished(started()) == (*values, 1)


@pytest.mark.slow
def test_another_processor_has_other_code(started):
    """The cache may be on a shared disk: code for one processor is not run on another one, and both are kept."""
    here, other = {}, {"NUMBA_CPU_NAME": "generic"}
    assert [finished(started(**on))[1] for on in (here, other, here, other)] == [0, 0, 1, 1]
