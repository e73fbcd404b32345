"""Write the address of the repository wherever it stands: `python tools/address.py https://HOST/OWNER/attention-limits`.

`[project.urls]` of pyproject.toml holds the present one; example.org stands for an address that nobody has published yet.
"""

import sys
import tomllib
from pathlib import Path

from attention_limits.pipeline.base.files import write_text

ROOT = Path(__file__).parents[1]
FILES = ("pyproject.toml", "CITATION.cff", "README.md")


def address(root=ROOT):
    """The address in pyproject.toml."""
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Repository"]


def move(new, root=ROOT):
    """Replace the present address by `new` in all FILES."""
    old = address(root)
    for name in FILES:
        file = root / name
        write_text(file, file.read_text(encoding="utf-8").replace(old, new.rstrip("/")))


if __name__ == "__main__":
    move(*sys.argv[1:])
