"""Write the conda environment from uv.lock: `python envs/generate.py`, or with --check only say whether it is current."""

import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
FILE = FOLDER / "attention-limits.yaml"
PYTHON = "3.12"
HEAD = f"""\
# Written by envs/generate.py from uv.lock, which is the truth. `snakemake --sdm conda` runs the jobs in it.
# The package itself is not in it: those jobs take it from the checkout. To run Snakemake in it as well:
#   conda env create --file envs/attention-limits.yaml
#   conda run --name attention-limits pip install --no-deps --editable .
name: attention-limits
channels: [conda-forge, nodefaults]
dependencies:
  - python ={PYTHON}
  - pip
  - pip:
"""


def environment(uv: str) -> str:
    """The text of the environment: the versions of the lock, with the extras that clusters need."""
    export = [uv, "export", "--frozen", "--no-dev", "--no-emit-project", "--no-hashes", "--no-annotate", "--no-header"]
    done = subprocess.run([*export, "--all-extras"], cwd=FOLDER.parent, capture_output=True, text=True, check=True)
    pins = [line.strip() for line in done.stdout.splitlines() if "==" in line]
    return HEAD + "".join(f'      - "{pin}"\n' for pin in pins)


def main() -> int:
    uv = shutil.which("uv") or str(FOLDER.parent / ".venv" / "bin" / "uv")
    text = environment(uv)
    if "--check" in sys.argv:
        current = FILE.exists() and FILE.read_text(encoding="utf-8") == text
        print(f"{FILE}: {'current' if current else 'not what uv.lock says; run python envs/generate.py'}")
        return 0 if current else 1
    FILE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
