"""The wheel runs without the repository, with the packages that it names as its dependencies and no others."""

import os
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
QUESTION = """\
import sys, time
start = time.perf_counter()
import attention_limits as al
seconds = time.perf_counter() - start
cube = al.compute("attention_indexed.state_evolution", {"tokens": 2, "ratio": 0.5, "channel": "linear"}, {"alpha": [0.0, 0.1]})
print(seconds, cube.mmse.values.ravel().tolist(), al.__file__)
for call in (lambda: al.plot(cube, "mmse"), lambda: al.compute("sequence_multi_index.online_sgd", {"link": "phase_retrieval"},
             {"alpha": [1.0]}, solver={"batch": 4, "batches": 1, "learning_rate": 0.1},
             data={"gaussian_sequences": {"dimension": 10}})):
    try:
        call()
    except ValueError as error:
        print(error)
"""


def needed(name, extras=(), found=None):
    """The distribution of a name and all that it requires."""
    found = {} if found is None else found
    try:
        own = distribution(name)
    except PackageNotFoundError:
        return found
    if own.name in found:
        return found
    found[own.name] = own
    for text in own.requires or ():
        wanted = Requirement(text)
        if any(wanted.marker is None or wanted.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            needed(wanted.name, wanted.extras, found)
    return found


@pytest.fixture
def environment(tmp_path):
    """An empty environment with the wheel and, by links to those of the tests, its dependencies."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    (packages,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    (wheel,) = tmp_path.glob("*.whl")
    subprocess.run([sys.executable, "-m", "zipfile", "-e", str(wheel), str(packages)], check=True)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = {}
    for text in project["dependencies"]:
        needed(Requirement(text).name, found=found)
    for own in found.values():
        for top in {Path(file).parts[0] for file in own.files or () if ".." not in Path(file).parts}:
            if not (packages / top).exists():
                (packages / top).symlink_to(own.locate_file(top))
    return tmp_path / "venv" / "bin" / "python"


def missing(package, extra):
    return f'{package} is not installed: pip install "attention-limits[{extra}]", or in a checkout pip install ".[{extra}]"'


def test_the_wheel_computes_in_an_empty_environment(environment, tmp_path):
    folder = tmp_path / "empty"
    folder.mkdir()
    plain = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "COVERAGE"))}
    run = [str(environment), "-c", QUESTION]
    done = subprocess.run(run, cwd=folder, env=plain, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, *refused = done.stdout.splitlines()
    # 1 - alpha K / (2 nu) would be linear; the error at alpha = 0 is 1, below 1 above.
    assert "[1.0, 0." in first
    assert str(tmp_path / "venv") in first
    assert refused == [missing("matplotlib", "plot"), missing("jax", "training")]
    asked = [
        str(environment),
        "-m",
        "attention_limits",
        "compute",
        "attention_indexed.state_evolution",
        "--plot",
        "curve.pdf",
    ]
    picture = subprocess.run(asked, cwd=folder, env=plain, capture_output=True, text=True, check=False)
    assert picture.stderr == f"attention-limits: {missing('matplotlib', 'plot')}\n"
    commands = subprocess.run(
        [str(environment), "-m", "attention_limits", "thresholds", "--channel", "linear", "--tokens", "2"],
        cwd=folder, env=plain, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "n / (d r) = 0.166667" in commands.stdout
    checked = subprocess.run(
        [str(environment), "-m", "attention_limits", "check-link", "linear", "--rows", "1", "--outputs", "64"],
        cwd=folder, env=plain, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "gradient descent: not tested: jax is not installed" in checked.stdout
    assert list(folder.iterdir()) == []


def test_a_type_checker_reads_the_signatures_of_the_wheel(environment, tmp_path):
    """Without `py.typed` or the imports of `__init__` for checkers, every name of `al` would be of any type."""
    asked = tmp_path / "asked.py"
    asked.write_text("""\
import attention_limits as al
cube: int = al.compute("attention_indexed.state_evolution", workers=1)
al.thresholds({"link": "linear"}, replicas="many")
al.open(1)
""")
    run = [sys.executable, "-m", "mypy", "--python-executable", str(environment), asked.name]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    found = [line.partition(": error: ")[2] for line in done.stdout.splitlines() if line.startswith("asked.py:")]
    assert found == [
        'Incompatible types in assignment (expression has type "Dataset", variable has type "int")  [assignment]',
        'Argument "replicas" to "thresholds" has incompatible type "str"; expected "int | None"  [arg-type]',
        'Argument 1 to "open" has incompatible type "int"; expected "str | Path"  [arg-type]',
    ], done.stdout


def test_the_import_takes_a_third_of_a_second(tmp_path):
    """The best of five, of a Python that does nothing else; measured 0.01 s."""
    code = "import time; start = time.perf_counter(); import attention_limits; print(time.perf_counter() - start)"
    run = [sys.executable, "-c", code]
    seconds = [float(subprocess.run(run, capture_output=True, text=True, check=True).stdout) for _ in range(5)]
    assert min(seconds) < 0.3
