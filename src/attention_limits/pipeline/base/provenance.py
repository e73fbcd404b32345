"""The code that decides a number: import closure, code digest, versions.

This module parses the source files, also those of a user, and does not import them, so it is fast enough for every start of the
workflow.
"""

import ast
import contextlib
import functools
import hashlib
import importlib.util
import json
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path

from attention_limits.numerics.caches import cache_folder

PACKAGE = "attention_limits"
SOURCE = Path(__file__).parents[2]


def other_code(checkout: Path) -> str:
    """Why the jobs of the Snakefile in `checkout` would run other code than the one beside it; empty if they would not.

    A worktree may have the environment of another checkout, and PYTHONPATH may name an older copy of the package.
    """
    beside = checkout / "src" / PACKAGE
    if not beside.is_dir() or beside.resolve() == SOURCE.resolve():
        return ""
    return (
        f"{checkout / 'Snakefile'}: Python imports the package of another checkout, {SOURCE}, not {beside}: "
        f"run `make setup` in {checkout} and use its .venv, and remove other copies from PYTHONPATH"
    )


# Names of the folders that hold installed packages.
_INSTALLED = {"site-packages", "dist-packages"}
# Modules that cannot change a number: an edit to them must not rerun anything.
INERT = frozenset({PACKAGE, f"{PACKAGE}.numerics.caches", f"{PACKAGE}.pipeline.base.progress"})

_WITH_DOCSTRING = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_RECORDED = ("attention-limits", "numpy", "scipy", "numba", "xarray", "netCDF4", "jax", "tokenizers")


def has_module(module: str) -> bool:
    """True if this package has a file for `module`."""
    return _file(module) is not None


@functools.cache
def module_in(folder: str, name: str) -> str:
    """The module `name` of the package `folder`, in it or in one of its subpackages; directly in it if there is no file.

    Names are unique in a folder; a test checks this.
    """
    here = SOURCE.joinpath(*folder.split(".")[1:])
    found = sorted(here.rglob(f"{name}.py"))
    return ".".join((folder, *found[0].relative_to(here).with_suffix("").parts)) if found else f"{folder}.{name}"


@functools.cache
def closure(module: str) -> tuple[str, ...]:
    """The modules of this package that importing `module` may execute, itself included, sorted.

    Follows `import` and `from`, also inside functions, submodules, relative imports and the `__init__` files of parent
    packages. Imports whose name is made at run time are not seen. Raises ModuleNotFoundError when `module` has no file.
    """
    found: set[str] = set()
    open_ = [module]
    while open_:
        name = open_.pop()
        if name not in found:
            found.add(name)
            open_ += _module(name)[0]
    return tuple(sorted(found - INERT))


@functools.cache
def _module(name: str) -> tuple[set[str], str]:
    """The modules that importing a module executes first or may execute, and the digest of its code alone."""
    file, parent = _file(name), name.rpartition(".")[0]
    if file is None:
        raise ModuleNotFoundError(f"{PACKAGE} has no module {name!r} below {SOURCE}", name=name)
    named, code = _content(file.read_bytes(), name if file.name == "__init__.py" else parent)
    imported = {parent} if name in INERT else {parent, *named}
    return {other for other in imported if has_module(other)}, code


def _content(source: bytes, package: str) -> tuple[list[str], str]:
    """`_parsed`, kept in the user's folder of caches: every job asks for some hundred modules."""
    folder = _kept()
    if folder is None:
        return _parsed(source, package)
    place = folder / hashlib.sha256(f"{package} ".encode() + source).hexdigest()
    with contextlib.suppress(OSError, ValueError):
        named, code = json.loads(place.read_text(encoding="utf-8"))
        return named, code
    found = _parsed(source, package)
    with contextlib.suppress(OSError):
        # Other processes may read and write the same file.
        temporary = place.with_name(f".{os.getpid()}.{place.name}")
        temporary.write_text(json.dumps(found), encoding="utf-8")
        os.replace(temporary, place)
    return found


@functools.cache
def _kept() -> Path | None:
    """Folder of what `_parsed` found, with this code and this version of Python; None where there is no folder of caches."""
    folder = cache_folder(os.environ.get("NUMBA_CACHE_DIR"))
    if folder is None:
        return None
    own = hashlib.sha256(f"{sys.version_info[:3]} ".encode() + Path(__file__).read_bytes()).hexdigest()[:16]
    with contextlib.suppress(OSError):
        (folder / f"modules-{own}").mkdir(exist_ok=True)
    return folder / f"modules-{own}"


def _parsed(source: bytes, package: str) -> tuple[list[str], str]:
    """What the imports of a module in a `package` name, and the digest of its code alone."""
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    named = sorted(_named(nodes, package.split(".")))
    for node in nodes:
        if isinstance(node, ast.Raise):
            node.exc = node.cause = None
        elif isinstance(node, _WITH_DOCSTRING) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    return named, hashlib.sha256(ast.unparse(tree).encode()).hexdigest()


def _file(module: str) -> Path | None:
    package, *parts = module.split(".")
    if package != PACKAGE:
        return None
    path = SOURCE.joinpath(*parts)
    for candidate in (path / "__init__.py", path.with_name(path.name + ".py")):
        if candidate.is_file():
            return candidate
    return None


def imported_modules(file: Path) -> list[str]:
    """The modules of this package that a file outside of it imports; none for a file that is not valid Python."""
    return sorted(name for name in _imports_of(file) if has_module(name))


def _imports_of(file: Path, package: str = "") -> set[str]:
    """What the imports of a file in a `package` name; nothing if it is not valid Python."""
    if file.suffix != ".py":
        return set()
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):
        return set()
    return _named(ast.walk(tree), package.split(".") if package else [])


def imported_files(file: Path) -> dict[Path, str]:
    """The files of a user that a file of the user imports, and those that they import, each with the name of its module.

    They lie beside the file, or where this process finds them, but not in Python, in installed packages or in this package.
    Imports inside of functions count. Imports whose name is made at run time are not seen.
    """
    file = file.absolute()
    found: dict[Path, str] = {}
    open_ = [(file, "")]
    while open_:
        importing, package = open_.pop()
        for named in sorted(_imports_of(importing, package)):
            for name, place in _own_places(named, file):
                if place != file and place not in found:
                    found[place] = name
                    open_.append((place, name if place.name == "__init__.py" else name.rpartition(".")[0]))
    return found


def _own_places(named: str, file: Path) -> Iterator[tuple[str, Path]]:
    """Name and file of each part of a dotted name, both beside the `file` and where Python finds it, if a user wrote them."""
    top, *parts = named.split(".")
    if top in ("", PACKAGE):
        return
    beside, elsewhere = PathFinder.find_spec(top, [str(file.parent)]), None
    # A module in memory may say anything of itself.
    with contextlib.suppress(ImportError, ValueError, AttributeError):
        elsewhere = importlib.util.find_spec(top)
    for spec in filter(None, (beside, elsewhere)):
        name, part = top, spec
        for following in [*parts, ""]:
            if part.has_location and part.origin and of_a_user(part.origin):
                yield name, Path(part.origin).absolute()
            name = f"{name}.{following}"
            below = part.submodule_search_locations
            found = PathFinder.find_spec(name, list(below)) if following and below is not None else None
            if found is None:
                break
            part = found


def of_a_user(file: str) -> bool:
    """Whether a file exists outside of Python, of installed packages, and of this package."""
    if _INSTALLED & {*Path(file).parts, *Path(os.path.realpath(file)).parts}:
        return False
    library = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))
    folders = [os.path.realpath(folder) for folder in (str(SOURCE), *library)]
    return os.path.isfile(file) and not any(
        os.path.realpath(file).startswith(f"{folder}{os.sep}") for folder in folders
    )


def _named(nodes: Iterable[ast.AST], here: list[str]) -> set[str]:
    """Modules, and names in modules, that the imports among the `nodes` of a module in the package `here` may refer to."""
    named = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = here[: len(here) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            named |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    return named


def code_digest(module: str, *more: str, extra_files: Iterable[Path] = ()) -> str:
    """sha256 of all code that `module` (and the modules in `more`) can execute.

    Comments, docstrings, formatting, the messages of `raise` and the place of the checkout do not enter. The bytes of
    `extra_files` do.
    """
    names = sorted(set().union(*(closure(name) for name in (module, *more))))
    total = hashlib.sha256()
    for name in names:
        total.update(f"{name} {_module(name)[1]}\n".encode())
    for file in sorted(Path(file) for file in extra_files):
        total.update(f"{file.name} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()


def versions() -> dict[str, str]:
    """Versions of the packages that compute the numbers, and of this one; a missing package is left out."""
    found = {}
    for name in _RECORDED:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found
