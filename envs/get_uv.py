"""Download the version of uv that uv.lock names into a folder, without pip and without the venv module of Python.

`python3 envs/get_uv.py FOLDER` runs with the Python of the system. A wheel is a zip archive; its checksum is that of the lock.
"""

import hashlib
import io
import platform
import sys
import tomllib
import urllib.request
import zipfile
from pathlib import Path


def wheel_for(wheels, system, machine, glibc):
    """The entry of uv.lock whose platform tag fits, for the names that `platform` returns; None if there is none."""
    kind = {"Linux": "manylinux" if glibc else "musllinux", "Darwin": "macosx"}.get(system, system)
    machine = {"AMD64": "x86_64"}.get(machine, machine)
    return next(
        (w for w in wheels if kind in w["url"].rsplit("/", 1)[-1] and w["url"].endswith(f"_{machine}.whl")), None
    )


def main():
    """Write FOLDER/uv."""
    folder = Path(sys.argv[1])
    lock = tomllib.loads((Path(__file__).parents[1] / "uv.lock").read_text(encoding="utf-8"))
    package = next(entry for entry in lock["package"] if entry["name"] == "uv")
    system, machine = platform.system(), platform.machine()
    wheel = wheel_for(package["wheels"], system, machine, platform.libc_ver()[0] == "glibc")
    if wheel is None:
        sys.exit(f"uv.lock names no uv for {system} on {machine}; install uv {package['version']} and run make again")
    try:
        with urllib.request.urlopen(wheel["url"]) as answer:
            content = answer.read()
    except OSError as error:
        sys.exit(f"cannot download uv {package['version']} ({error}); install it and run make again")
    found = "sha256:" + hashlib.sha256(content).hexdigest()
    if found != wheel["hash"]:
        sys.exit(f"the downloaded uv has the checksum {found}, uv.lock expects {wheel['hash']}")
    archive = zipfile.ZipFile(io.BytesIO(content))
    name = next(name for name in archive.namelist() if name.endswith("/scripts/uv"))
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "uv"
    program.write_bytes(archive.read(name))
    program.chmod(0o755)


if __name__ == "__main__":
    main()
