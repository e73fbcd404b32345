"""The contracts of import-linter hold for all modules that they are meant for, and those that it cannot express."""

import ast
import re
import tomllib
from collections import defaultdict
from graphlib import TopologicalSorter

import pytest

from attention_limits.numerics import compiled
from attention_limits.pipeline.base.provenance import INERT, PACKAGE, SOURCE, closure, imported_modules
from attention_limits.pipeline.experiments.estimator import estimator_module
from attention_limits.pipeline.experiments.experiment import load_family
from attention_limits.sequence_multi_index.erm import state_evolution
from attention_limits.sequence_multi_index.figures.erm import erm_positional
from toy import REPOSITORY

FAMILIES = sorted(path.parent.name for path in (REPOSITORY / "config").glob("*/experiments"))
# Modules of a family that a figure may execute beside the other figures and the readings: closed formulas without a solver.
FORMULAS = {f"{PACKAGE}.potts_mlm.potts.recovery"}
# The estimators that train with automatic differentiation, and the flow that averages the same gradient.
TRAINING = {
    "attention_indexed": {"untied_descent"},
    "potts_mlm": {"stacked_attention"},
    "sequence_multi_index": {"batch_reuse_sgd", "online_sgd", "sgd_flow"},
}


def direct_imports(path):
    """The modules that a file imports, such as `numpy`; names in a module are left out."""
    nodes = list(ast.walk(ast.parse(path.read_bytes())))
    found = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    assert not any(node.level for node in nodes if isinstance(node, ast.ImportFrom)), path
    found |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    own = set(imported_modules(path))
    packages = {name for name in own if any(other.startswith(f"{name}.") for other in own)}
    return {name for name in found if not name.startswith(PACKAGE)} | own - packages


def test_kernels_import_numpy_numba_math_numerics_and_kernels():
    for path in SOURCE.rglob("*_kernels.py"):
        outside = {name for name in direct_imports(path) if not name.startswith(PACKAGE)}
        assert {name.partition(".")[0] for name in outside} <= {"numpy", "numba", "math", "typing"}, path
        for name in direct_imports(path) - outside:
            assert name.startswith(f"{PACKAGE}.numerics") or name.endswith("_kernels"), (path, name)


def test_the_folder_of_the_source_is_read_from_its_module():
    """A toy project replaces `provenance.SOURCE`; a module that keeps its own copy would read the other folder for ever."""
    for path in SOURCE.rglob("*.py"):
        nodes = [node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.ImportFrom)]
        assert not any(alias.name == "SOURCE" for node in nodes for alias in node.names), path


@pytest.mark.parametrize("family", FAMILIES)
def test_figures_execute_no_solver(family):
    """Their imports lead to figures, readings, the plotting, the pipeline and `numerics`, and to nothing that compiles."""
    drawn, compiling = f"{PACKAGE}.{family}.figures", compiled.__name__
    for path in (SOURCE / family / "figures").rglob("*.py"):
        module = ".".join((PACKAGE, *path.relative_to(SOURCE).with_suffix("").parts))
        for name in closure(module.removesuffix(".__init__")):
            shared = name in (PACKAGE, f"{PACKAGE}.plotting") or name.split(".")[1] in ("pipeline", "numerics")
            own = name in (f"{PACKAGE}.{family}", f"{PACKAGE}.{family}.readings") or name.startswith(drawn)
            # The front page of a room holds no code.
            page = (SOURCE.joinpath(*name.split(".")[1:]) / "__init__.py").is_file()
            assert shared or own or page or name in FORMULAS, (path, name)
            assert name != compiling, path


def test_a_constant_that_a_figure_repeats_is_that_of_the_solver():
    """A figure imports no solver, so it repeats the constant."""
    assert erm_positional.MAX_JUMP == state_evolution.MAX_JUMP


@pytest.mark.parametrize("family", FAMILIES)
def test_only_training_reaches_jax(family):
    """Beside the recorder of users' functions, which a channel imports when it compiles one."""
    known = load_family(family)
    reaching = set()
    for name in (*known.data, *known.estimators):
        modules = [module for module in closure(estimator_module(family, name)) if ".numerics.tracing" not in module]
        files = [SOURCE.joinpath(*module.split(".")[1:]).with_suffix(".py") for module in modules]
        texts = [path.read_text(encoding="utf-8") for path in files if path.is_file()]
        if any(re.search(r"^\s*(import|from) (jax|optax)\b", text, re.MULTILINE) for text in texts):
            reaching.add(name)
    assert reaching == TRAINING.get(family, set())


def test_the_contract_of_the_kernels_lists_all_kernels():
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (listed,) = (
        contract["source_modules"] for contract in settings["contracts"] if contract["name"].startswith("kernels")
    )
    source = REPOSITORY / "src"
    kernels = source.glob("attention_limits/**/*_kernels.py")
    assert listed == sorted(".".join(path.relative_to(source).with_suffix("").parts) for path in kernels)


def test_the_digest_of_compiled_code_holds_every_module_that_compiled_code_can_contain():
    """The cache of compiled code would not notice an edit of another module; `compiled` reads imports in its own, faster way."""
    names = {
        path: ".".join((PACKAGE, *path.relative_to(SOURCE).with_suffix("").parts)) for path in SOURCE.rglob("*.py")
    }
    # Others ask only for the folder of the code.
    compiling = [
        name
        for path, name in names.items()
        if compiled.__name__ in imported_modules(path) and "njit" in path.read_text(encoding="utf-8")
    ]
    assert len(compiling) > 30
    # Parent packages are executed too, but they define nothing.
    packages = {name.removesuffix(".__init__") for name in names.values() if name.endswith(".__init__")}
    places = {name: path for path, name in names.items()}
    for name in compiling:
        held = {names[path].removesuffix(".__init__") for path in compiled.code_files(places[name])} - INERT
        assert (name, held - packages) == (name, set(closure(name)) - packages)


def rooms():
    """The folders whose front pages list their modules."""
    named = {"estimators", "figures"}
    packages = (*FAMILIES, "numerics", "pipeline")
    found = (path.parent for package in packages for path in (SOURCE / package).rglob("*/__init__.py"))
    return sorted(path for path in found if not named & set(path.relative_to(SOURCE).parts))


@pytest.mark.parametrize("room", rooms(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_the_front_page_of_a_room_lists_its_modules_and_holds_no_code(room):
    (page,) = ast.parse((room / "__init__.py").read_text(encoding="utf-8")).body
    text = ast.literal_eval(page.value)
    listed = re.findall(r"^- ([\w/, ]+): ", text, re.MULTILINE)
    names = [name.strip() for line in listed for name in line.split(",")]
    modules = {path.stem for path in room.glob("*.py")} - {"__init__"}
    folders = {f"{path.parent.name}/" for path in room.glob("*/__init__.py")}
    assert sorted(names) == sorted(modules | folders)
    assert "\nMay import it: " in text


def test_no_folder_has_more_than_ten_modules():
    for package in (*FAMILIES, "numerics", "pipeline", "cli", "interface"):
        for page in (SOURCE / package).rglob("__init__.py"):
            modules = [path for path in page.parent.glob("*.py") if path != page]
            assert len(modules) <= 10, page.parent


def test_a_function_takes_at_most_eight_arguments():
    """Others take a record. Compiled functions cannot; the options of a command and of `compute` are their users' words."""
    free = ("_kernels.py", "compute.py", "interactive.py", "simd/products.py", "simd/float32_lanes.py")
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.FunctionDef) and not node.name.endswith("_command"):
                names = [item.arg for item in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
                long = len([name for name in names if name not in ("self", "cls")]) > 8
                assert not long or str(path).endswith(free), (path, node.name)


def test_no_circle_among_the_modules_and_rooms_of_a_folder():
    """A reader can read each folder from the ground up. A room counts as one."""
    places = {path: path.relative_to(SOURCE).with_suffix("").parts for path in SOURCE.rglob("*.py")}
    uses = {place: [tuple(name.split(".")[1:]) for name in imported_modules(path)] for path, place in places.items()}
    assert sum(map(len, uses.values())) > 1000
    for folder in {place[:-1] for place in places.values()}:
        depth, graph = len(folder), defaultdict(set)
        for place, used in uses.items():
            if place[:depth] != folder or place[-1] == "__init__":
                continue
            beside = {name[depth] for name in used if name[:depth] == folder and len(name) > depth}
            graph[place[depth]] |= beside - {place[depth]}
        # Raises CycleError, which names the circle.
        list(TopologicalSorter(graph).static_order())


@pytest.mark.parametrize("kind", ["estimators", "figures"])
@pytest.mark.parametrize("family", FAMILIES)
def test_names_of_estimators_and_figures_are_unique(family, kind):
    """`module_in` finds them by name at any depth."""
    names = [path.stem for path in (SOURCE / family / kind).rglob("*.py") if path.name != "__init__.py"]
    assert len(set(names)) == len(names)


def test_the_way_of_one_point_is_short():
    """The pages that a reader of one point of each family's first figure needs."""
    page = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = page.partition("## The way of one point")[2].partition("\n\n[")[0].partition("\nThe profiles")[0]
    ways = section.split("\n- ")[1:]
    assert len(ways) == len(FAMILIES)
    for way in ways:
        files = re.findall(r"`([\w/]+\.py)`", way)
        assert sum(len((SOURCE / file).read_text(encoding="utf-8").splitlines()) for file in files) <= 1500, way
