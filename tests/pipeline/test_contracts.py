"""The contracts of import-linter hold for all modules that they are meant for."""

import tomllib

from toy import REPOSITORY


def test_the_contract_of_the_kernels_lists_all_kernels():
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (listed,) = (
        contract["source_modules"] for contract in settings["contracts"] if contract["name"].startswith("kernels")
    )
    source = REPOSITORY / "src"
    kernels = source.glob("attention_limits/**/*_kernels.py")
    assert listed == sorted(".".join(path.relative_to(source).with_suffix("").parts) for path in kernels)
