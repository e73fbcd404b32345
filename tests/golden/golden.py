"""What the smoke run has given before: `python tests/golden/golden.py RESULTS` writes it anew, see `make golden`.

The bytes of floating-point results depend on the instructions of the processor (order of sums, fused multiplication) and on
the versions of the libraries. So the file holds two things for each cube: the digest of its data with the platform that gave
it, to be compared exactly there and nowhere else; and for each variable what can be compared elsewhere: its form exactly, the
number of missing values exactly, and three weighted sums within a tolerance relative to the sum of the absolute values.
"""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import xarray as xr

FILE = Path(__file__).parent / "smoke.json"
# Relative to the sum of absolute values. See docs/cluster.md for how far another instruction set moves the results.
TOLERANCE = 1e-6


def platform() -> dict[str, str]:
    """What decides the last bits: the processor's instructions and the libraries that compute."""
    import llvmlite.binding as llvm
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    from attention_limits.provenance import versions

    found = [name for name in __cpu_dispatch__ if __cpu_features__[name]]
    used = {name: version for name, version in versions().items() if name != "attention-limits"}
    libraries = " ".join(f"{name} {version}" for name, version in sorted(used.items()))
    return {"processor": f"{llvm.get_host_cpu_name()}: {' '.join(found)}", "libraries": libraries}


def record(path: Path) -> dict:
    """The digest of a cube, and of each of its variables form and sums."""
    with xr.open_dataset(path, decode_times=False) as opened:
        cube = opened.load()
    return {
        "digest": cube.attrs["data_digest"],
        "variables": {str(name): _summary(cube[name]) for name in sorted(map(str, cube.variables))},
    }


def _summary(array: xr.DataArray) -> dict:
    form = f"{', '.join(map(str, array.dims))}: {'×'.join(map(str, array.shape))} {array.dtype.kind}"
    if array.dtype.kind in "OUT":
        text = json.dumps([str(item) for item in array.values.ravel()])
        return {"form": form, "text": hashlib.sha256(text.encode()).hexdigest()[:16]}
    values = np.asarray(array.values, dtype=float).ravel()
    there = np.isfinite(values)
    values = np.where(there, values, 0.0)
    # Weights without a pattern, so that values that have changed places are seen.
    weights = np.random.default_rng(0).uniform(-1, 1, (2, values.size))
    sums = [np.abs(values).sum(), *(weights @ values)]
    return {"form": form, "missing": int((~there).sum()), "sums": [float(f"{item:.9g}") for item in sums]}


def differences(old: dict, new: dict, same_platform: bool) -> list[str]:
    """What differs between the records of one cube, one line each."""
    if same_platform:
        return [] if old["digest"] == new["digest"] else [f"data digest {new['digest'][:16]}, not {old['digest'][:16]}"]
    found = [f"{name}: there in one alone" for name in sorted(old["variables"].keys() ^ new["variables"].keys())]
    for name in sorted(old["variables"].keys() & new["variables"].keys()):
        before, now = old["variables"][name], new["variables"][name]
        for key in ("form", "text", "missing"):
            if before.get(key) != now.get(key):
                found.append(f"{name}: {key} {now.get(key)}, not {before.get(key)}")
        for a, b in zip(before.get("sums", ()), now.get("sums", ()), strict=True):
            if abs(a - b) > TOLERANCE * before["sums"][0]:
                found.append(f"{name}: sum {b:.9g}, not {a:.9g}")
    return found


def cubes(results: Path) -> dict[str, Path]:
    """Family and experiment to the file of the cube."""
    return {f"{path.parent.name}/{path.stem}": path for path in sorted(results.glob("cubes/*/*.nc"))}


def main(results: Path) -> None:
    """Write the golden file from the cubes of a results folder."""
    content = {"platform": platform(), "cubes": {name: record(path) for name, path in cubes(results).items()}}
    if not content["cubes"]:
        sys.exit(f"{results}: no cubes there")
    FILE.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{FILE}: {len(content['cubes'])} cubes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
