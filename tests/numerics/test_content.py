"""Compiled code of functions that a user gives: what its name determines, and that another process gets the same numbers."""

import importlib.util
import os
import subprocess
import sys

import pytest

from attention_limits.numerics import content
from attention_limits.numerics.content import content_digest

BASE = """
import math
import numpy as np
from numba import njit

TABLE = np.array([1.0, 2.0])
SCALE = 2.0

@njit
def part(x):
    return math.tanh(x) + TABLE[0]

def made(power):
    def inner(x):
        return x**power
    return inner

power = made(3)

def student(z, factor=1.0):
    return sum([part(field) * SCALE + 1.0 for field in z]) * factor
"""
# Every change of what a function does, however far away.
CHANGES = {
    "a constant": ("+ 1.0 for", "+ 1.5 for"),
    "the type of a constant": ("+ 1.0 for", "+ 1 for"),
    "a function of the library": ("math.tanh", "math.sinh"),
    "a number of the module": ("SCALE = 2.0", "SCALE = -2.0"),
    "an array of the module": ("[1.0, 2.0]", "[1.0, 2.5]"),
    "the type of an array": ("np.array([1.0, 2.0])", "np.array([1.0, 2.0], dtype=np.float32)"),
    "the body of another function": ("+ TABLE[0]", "- TABLE[0]"),
    "options of another function": ("@njit\ndef part", "@njit(fastmath=True)\ndef part"),
    "a default": ("factor=1.0", "factor=2.0"),
    "an operator": ("* factor", "+ factor"),
}


def module_of(path, text):
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("change", CHANGES)
def test_each_change_of_what_a_function_does_changes_its_digest(tmp_path, change):
    old, new = CHANGES[change]
    assert BASE.count(old) == 1
    before, after = module_of(tmp_path / "a.py", BASE), module_of(tmp_path / "b.py", BASE.replace(old, new))
    assert content_digest(before.student) != content_digest(after.student)
    assert None not in (content_digest(before.student), content_digest(after.student))


def test_the_same_code_elsewhere_has_the_same_digest(tmp_path):
    """Another folder, another line, and more around it."""
    before = module_of(tmp_path / "a.py", BASE)
    after = module_of(tmp_path / "b.py", "# A comment.\nother = 3\n" + BASE)
    assert content_digest(before.student) == content_digest(after.student) is not None
    assert content_digest(before.made(3)) == content_digest(before.power)
    assert len({content_digest(before.made(power)) for power in (2, 3, 3.0)}) == 3
    assert content_digest(before.power, 1) != content_digest(before.power, 2)


def test_a_function_may_use_itself(tmp_path):
    text = "from numba import njit\n\n@njit\ndef down(n):\n    return 0 if n < 1 else down(n - 1) + 2\n"
    before, after = module_of(tmp_path / "a.py", text), module_of(tmp_path / "b.py", text.replace("+ 2", "+ 3"))
    assert content_digest(before.down) not in (None, content_digest(after.down))


@pytest.mark.parametrize(
    "uses",
    [
        "def other(x):\n    return x",
        "class other:\n    pass",
        "other = object()",
        "import numpy as np\nother = np.array([object()])",
        "import xarray as other",
    ],
)
def test_what_is_not_known_has_no_digest(tmp_path, uses):
    """A plain function can stand for code that another file registers with numba."""
    module = module_of(tmp_path / "a.py", f"{uses}\n\ndef student(z):\n    return other(z)\n")
    assert content_digest(module.student) is None


PROGRAM = """
import sys
from pathlib import Path

from numba import njit, types
from numba.core import event

sys.path.insert(0, sys.argv[1])
import functions
from attention_limits.numerics.content import content_digest, keep

SIGNATURE = types.float64(types.float64)


def make(function):
    @njit
    def twice(x):
        return function(function(x))

    return twice


compilations = event.RecordingListener()
with event.install_listener("numba:compile", compilations):
    found = []
    for name in sys.argv[2:]:
        function = njit(getattr(functions, name))
        twice = keep(make(function), content_digest(function))
        twice.compile(SIGNATURE)
        found.append(twice)


# By the address of the function, as the loop of SGD does.
@njit(types.float64(types.FunctionType(SIGNATURE), types.float64))
def call(function, x):
    return function(x)


for twice in found:
    print(call(twice, 0.3).hex(), end=" ")
print(sum(each.is_start for _, each in compilations.buffer))
"""
FUNCTIONS = """
import math
from numba import njit

@njit
def helper(x):
    return math.sqrt(1.0 + x)

def one(x):
    return helper(math.exp(x))

def two(x):
    return helper(math.cos(x))
"""


@pytest.fixture
def started(tmp_path):
    """A function that starts the program with functions of a folder; all share the cache of `tmp_path`."""
    (tmp_path / "program.py").write_text(PROGRAM)

    def start(folder, *names):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "functions.py").write_text(FUNCTIONS)
        return subprocess.Popen(
            [sys.executable, tmp_path / "program.py", tmp_path / folder, *names],
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path), "NUMBA_CACHE_DIR": ""},
            stdout=subprocess.PIPE,
            text=True,
        )

    return start


def words(process):
    printed, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    return printed.split()


@pytest.mark.slow
def test_another_process_and_clone_compile_nothing_and_compute_the_same_bytes(started):
    """Both functions have the place of `twice` in the file, and numba gives both the same name: the linker may not mix them."""
    both = [started("here", "one"), started("here", "one")]
    (one, compilations), again = map(words, both)
    assert again[0] == one
    assert int(compilations) > 0
    two, compilations = words(started("here", "two"))
    assert int(compilations) > 0
    assert two != one
    assert words(started("there", "one", "two")) == [one, two, "0"]
    assert words(started("there", "two", "one")) == [two, one, "0"]


def test_nothing_is_kept_where_no_folder_can_be_written(monkeypatch):
    monkeypatch.setattr(content.compiled, "FOLDER", None)

    class Jitted:
        """Has no attribute that `keep` could change."""

        __slots__ = ()

    jitted = Jitted()
    assert content.keep(jitted, "name") is jitted
