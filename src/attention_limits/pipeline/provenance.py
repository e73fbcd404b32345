"""The code that decides a number: import closure, code digest, versions.

This module parses the source files and does not import them, so it is fast enough for every start of the workflow.
"""

import ast
import functools
import hashlib
import tomllib
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

PACKAGE = "attention_limits"
SOURCE = Path(__file__).parents[1]

# Modules that cannot change a number: an edit to them must not rerun anything.
INERT = frozenset({f"{PACKAGE}.pipeline.progress"})

_DISTRIBUTION = "attention-limits"
_RECORDED = ("numpy", "scipy", "numba", "xarray", "netCDF4", "jax", "optax", "tokenizers")


def closure(module: str) -> list[Path]:
    """The files of this package that importing `module` may execute, itself included, sorted by module name.

    Follows `import` and `from` wherever they stand (functions included), submodules, relative imports and the
    `__init__` files of parent packages. Imports whose name is made at run time are not seen.
    Raises ModuleNotFoundError when `module` has no file.
    """
    return [_file(name) for name in _closure(module)]


def has_module(module: str) -> bool:
    """True if this package has a file for `module`."""
    return _file(module) is not None


@functools.cache
def _closure(module: str) -> tuple[str, ...]:
    if _file(module) is None:
        raise ModuleNotFoundError(f"{PACKAGE} has no module {module!r} below {SOURCE}", name=module)
    found, open_ = set(), [module]
    while open_:
        name = open_.pop()
        if name in found or name in INERT:
            continue
        found.add(name)
        open_ += _imports(name)
    return tuple(sorted(found))


def _file(module: str) -> Path | None:
    package, *parts = module.split(".")
    if package != PACKAGE:
        return None
    path = SOURCE.joinpath(*parts)
    for candidate in (path / "__init__.py", path.with_name(path.name + ".py")):
        if candidate.is_file():
            return candidate
    return None


@functools.cache
def _tree(module: str) -> ast.Module:
    return ast.parse(_file(module).read_bytes(), filename=str(_file(module)))


def imported_modules(file: Path) -> list[str]:
    """The modules of this package that a file outside of it imports; none for a file that is not valid Python."""
    if file.suffix != ".py":
        return []
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):
        return []
    return sorted(name for name in _named(tree, []) if _file(name) is not None)


def _imports(module: str) -> list[str]:
    is_package = _file(module).name == "__init__.py"
    here = module.split(".") if is_package else module.split(".")[:-1]
    named = _named(_tree(module), here)
    # The parents of every imported module run first.
    parents = set()
    for name in named | {module}:
        parts = name.split(".")
        parents |= {".".join(parts[:depth]) for depth in range(1, len(parts) + 1)}
    return sorted(name for name in parents if _file(name) is not None)


def _named(tree: ast.Module, here: list[str]) -> set[str]:
    """Modules, and names in modules, that the imports of a module in the package `here` may refer to."""
    named = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = here[: len(here) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            named |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    return named


def code_digest(module: str, *more: str, extra_files: Iterable[Path] = ()) -> str:
    """sha256 of the syntax of all code that `module` (and the modules in `more`) can execute.

    Comments, docstrings, formatting and the place of the checkout do not enter. The bytes of `extra_files` do.
    """
    names = sorted(set().union(*(_closure(name) for name in (module, *more))))
    total = hashlib.sha256()
    for name in names:
        total.update(f"{name} {_module_digest(name)}\n".encode())
    for file in sorted(Path(file) for file in extra_files):
        total.update(f"{file.name} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()


@functools.cache
def _module_digest(name: str) -> str:
    return hashlib.sha256(_syntax(_tree(name)).encode()).hexdigest()


def _syntax(node) -> str:
    """A syntax tree as text, the same for all supported versions of Python.

    The text of `ast.dump` depends on the version: later ones add empty fields. This function leaves them out.
    """
    if isinstance(node, list):
        return "[" + ",".join(map(_syntax, node)) + "]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = []
    for key, value in ast.iter_fields(node):
        if key == "body" and isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            value = _without_docstring(value)
        # A literal None is the value of a Constant; elsewhere None means that a field is absent.
        if (value is not None and value != []) or isinstance(node, ast.Constant):
            fields.append(f"{key}={_syntax(value)}")
    return f"{type(node).__name__}({','.join(fields)})"


def _without_docstring(body: list) -> list:
    value = getattr(body[0], "value", None) if body and isinstance(body[0], ast.Expr) else None
    return body[1:] if isinstance(value, ast.Constant) and isinstance(value.value, str) else body


def versions() -> dict[str, str]:
    """Versions of the packages that compute the numbers, and of this one; a missing package is left out."""
    found = {}
    for name in (_DISTRIBUTION, *_RECORDED):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found | _of_checkout()


def _of_checkout() -> dict[str, str]:
    """The version of the checkout that contains this file, if any. The installed version may be older, or missing."""
    file = SOURCE.parents[1] / "pyproject.toml"
    project = tomllib.loads(file.read_text(encoding="utf-8")).get("project", {}) if file.is_file() else {}
    return {_DISTRIBUTION: project["version"]} if project.get("name") == _DISTRIBUTION else {}
