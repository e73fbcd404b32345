import os
import shutil
import sys

import pytest
from hypothesis import settings

from attention_limits import __main__ as program
from attention_limits.pipeline.base.threads import limit_threads
from toy import REPOSITORY, Toy

# Workers, jobs and later runs share the bytecode of tests and package, also in containers where Python writes none.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# As in the jobs of the workflow: two processes with two threads each on two cores spend most of their time on waiting in the
# loops of the linear algebra. Numpy, numba and JAX read this when they are imported; nothing above imports them.
limit_threads(1)


def _folder_of_jax():
    """Beside the compiled code of the package, so that another clone finds it too; numba is imported after `limit_threads`."""
    from attention_limits.numerics.compiled import FOLDER

    return (FOLDER or REPOSITORY / ".pytest_cache") / "jax"


# Many tests, in several processes, compile the same programs with JAX. The key of its cache is the program itself, so an edit of
# our code needs no new folder. With a limit of the size, processes lock the folder and read no half-written file.
os.environ.update(
    JAX_COMPILATION_CACHE_DIR=str(_folder_of_jax()),
    JAX_COMPILATION_CACHE_MAX_SIZE=str(200 * 2**20),
    JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0",
)

# Cores are shared with other tests, so one slow example says nothing; the same examples each time.
settings.register_profile("house", deadline=None, derandomize=True)
settings.load_profile("house")


LONGEST = ("test_smoke.py", "test_tutorials.py", "test_notebooks.py")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """A file stays together for the fixtures of its module; tests of workflow and pages are long, and most have none."""
    from xdist.scheduler import LoadScopeScheduling

    # By default xdist begins with the files of many tests, so the longest tests, each alone, would come last.
    config.option.loadscopereorder = False

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.partition("::")[0]
            alone = {"workflow", "pages"} & set(file.split("/")) and not file.endswith("test_data.py")
            return nodeid if alone else file

    return ByFile(config, log)


def pytest_collection_modifyitems(items):
    """The longest tests come first: at the end they would leave one core idle."""

    def place(item):
        quick = item.get_closest_marker("slow") is None
        return not {"workflow", "pages"} & set(item.path.parts), item.path.name not in LONGEST, quick

    items.sort(key=place)


@pytest.fixture(autouse=True, scope="session")
def thresholds_are_computed():
    """No test reads an answer that an earlier run has kept. The function that finds such an answer."""
    from attention_limits.interface import thresholds as questions

    found, questions._file_of = questions._file_of, lambda family, asked: None
    return found


@pytest.fixture
def kept(thresholds_are_computed, tmp_path, monkeypatch):
    """The folder in which thresholds are kept, for a test of that."""
    monkeypatch.setattr("attention_limits.numerics.compiled.FOLDER", tmp_path)
    monkeypatch.setattr("attention_limits.interface.thresholds._file_of", thresholds_are_computed)
    return tmp_path / "thresholds"


@pytest.fixture(autouse=True, scope="session")
def threads_stay():
    """Numba starts its threads once: a command that runs in the process of the tests must not set their number."""
    program.limit_threads = lambda threads: None


@pytest.fixture
def toy(tmp_path):
    """A fresh copy of the toy project, in a path with a space; see toy.py."""
    return Toy(tmp_path / "a project")


@pytest.fixture(scope="session")
def sound(tmp_path_factory):
    """A finished toy project. No test changes it."""
    project = Toy(tmp_path_factory.mktemp("sound") / "project")
    done = project.snakemake("--cores", "2")
    assert done.returncode == 0, done.stderr
    return project


@pytest.fixture
def finished(sound, toy):
    """A copy of the finished project, which a test may change. The files keep their dates."""
    shutil.rmtree(toy.folder)
    shutil.copytree(sound.folder, toy.folder)
    toy.computed()
    return toy
