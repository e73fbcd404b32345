"""The contracts of import-linter hold for all modules that they are meant for."""

import tomllib

from attention_limits.numerics import compiled
from attention_limits.pipeline.provenance import PACKAGE, SOURCE, closure, imported_modules
from toy import REPOSITORY


def test_the_contract_of_the_kernels_lists_all_kernels():
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (listed,) = (
        contract["source_modules"] for contract in settings["contracts"] if contract["name"].startswith("kernels")
    )
    source = REPOSITORY / "src"
    kernels = source.glob("attention_limits/**/*_kernels.py")
    assert listed == sorted(".".join(path.relative_to(source).with_suffix("").parts) for path in kernels)


def test_the_digest_of_compiled_code_holds_every_module_that_compiled_code_can_contain():
    """The cache of compiled code would not see an edit of a module outside of `numerics` and the kernels."""
    names = {
        path: ".".join((PACKAGE, *path.relative_to(SOURCE).with_suffix("").parts)) for path in SOURCE.rglob("*.py")
    }
    compiling = [name for path, name in names.items() if compiled.__name__ in imported_modules(path)]
    assert len(compiling) > 30
    held = {names[path].removesuffix(".__init__") for path in compiled.code_files()}
    # Parent packages are executed too, but they define nothing.
    packages = {name.removesuffix(".__init__") for name in names.values() if name.endswith(".__init__")}
    assert {name: left for name in compiling if (left := set(closure(name)) - held - packages)} == {}
