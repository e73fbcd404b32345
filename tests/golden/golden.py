"""The results of an earlier smoke run: `python tests/golden/golden.py RESULTS` writes them anew, see `make golden`.

The bytes of floating-point results depend on the instructions of the processor (order of sums, fused multiplication), on the
kernels of BLAS, and on the versions of the libraries. So the file holds two records for each cube. The digest of its data and
the platform that gave it are compared exactly, on this platform alone. Other platforms compare for each variable its form, which
must be the same, the number of missing values, and three weighted sums. A difference of the sums is a warning and no error,
because rounding grows in training and in iterations that have not converged.
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
    """The platform that decides the last bits: instructions of the processor, kernels of BLAS, libraries that compute."""
    import llvmlite.binding as llvm
    import scipy.linalg  # noqa: F401, loads its BLAS beside that of NumPy
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
    from threadpoolctl import threadpool_info

    from attention_limits.pipeline.base.provenance import versions

    found = [name for name in __cpu_dispatch__ if __cpu_features__[name]]
    used = {name: version for name, version in versions().items() if name != "attention-limits"}
    libraries = " ".join(f"{name} {version}" for name, version in sorted(used.items()))
    # OpenBLAS takes its kernels by the processor, or as OPENBLAS_CORETYPE says.
    loaded = [library for library in threadpool_info() if library["user_api"] == "blas"]
    kernels = {f"{library['internal_api']} {library.get('architecture')}" for library in loaded}
    return {
        "processor": f"{llvm.get_host_cpu_name()}: {' '.join(found)}",
        "linear algebra": " ".join(sorted(kernels)),
        "libraries": libraries,
    }


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
    # Weights without a pattern, so that exchanged values change the sum.
    weights = np.random.default_rng(0).uniform(-1, 1, (2, values.size))
    sums = [np.abs(values).sum(), *(weights @ values)]
    return {"form": form, "missing": int((~there).sum()), "sums": [float(f"{item:.9g}") for item in sums]}


def differences(old: dict, new: dict, same_platform: bool) -> list[str]:
    """The differences between the records of one cube, one line each: the data, on another platform the form of the variables."""
    if same_platform:
        return [] if old["digest"] == new["digest"] else [f"data digest {new['digest'][:16]}, not {old['digest'][:16]}"]
    found = [f"{name}: there in one alone" for name in sorted(old["variables"].keys() ^ new["variables"].keys())]
    return found + _compared(old, new, lambda before, now: before["form"] != now["form"], "form")


def drift(old: dict, new: dict) -> list[str]:
    """Variables whose numbers differ between platforms by more than `TOLERANCE`: seen where rounding grows, as in training."""

    def moved(before, now):
        pairs = zip(before.get("sums", ()), now.get("sums", ()), strict=True)
        return before.get("missing") != now.get("missing") or any(
            abs(a - b) > TOLERANCE * before["sums"][0] for a, b in pairs
        )

    return _compared(old, new, moved, "sums")


def _compared(old: dict, new: dict, differ, key: str) -> list[str]:
    both = sorted(old["variables"].keys() & new["variables"].keys())
    pairs = {name: (old["variables"][name], new["variables"][name]) for name in both}
    return [
        f"{name}: {key} {now.get(key)}, not {before.get(key)}"
        for name, (before, now) in pairs.items()
        if differ(before, now)
    ]


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
