import hashlib
import importlib.util
import io
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("get_uv", ROOT / "envs" / "get_uv.py")
get_uv = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(get_uv)


@pytest.mark.parametrize(
    ("system", "machine", "glibc", "end"),
    [
        ("Linux", "x86_64", True, "manylinux2014_x86_64.whl"),
        ("Linux", "x86_64", False, "musllinux_1_1_x86_64.whl"),
        ("Linux", "aarch64", True, "aarch64.whl"),
        ("Darwin", "arm64", False, "macosx_11_0_arm64.whl"),
        ("Linux", "sparc64", True, None),
    ],
)
def test_the_lock_has_a_uv_for_usual_machines(system, machine, glibc, end):
    lock = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))
    wheels = next(entry for entry in lock["package"] if entry["name"] == "uv")["wheels"]
    found = get_uv.wheel_for(wheels, system, machine, glibc)
    assert found is None if end is None else found["url"].endswith(end)


@pytest.mark.parametrize("changed", [False, True])
def test_only_the_locked_bytes_are_unpacked(tmp_path, monkeypatch, changed):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("uv-1.data/scripts/uv", "#!/bin/sh\necho hello\n")
    content = buffer.getvalue()
    (tmp_path / "envs").mkdir()
    (tmp_path / "wheel_x86_64.whl").write_bytes(content + (b"x" if changed else b""))
    url = (tmp_path / "wheel_x86_64.whl").as_uri()
    entry = f'{{url = "{url}", hash = "sha256:{hashlib.sha256(content).hexdigest()}"}}'
    lock = f'[[package]]\nname = "uv"\nversion = "1"\nwheels = [{entry}]\n'
    (tmp_path / "uv.lock").write_text(lock)
    monkeypatch.setattr(get_uv, "__file__", str(tmp_path / "envs" / "get_uv.py"))
    monkeypatch.setattr(get_uv, "wheel_for", lambda wheels, *_: wheels[0])
    monkeypatch.setattr(get_uv.sys, "argv", ["get_uv.py", str(tmp_path / "bin")])
    if changed:
        with pytest.raises(SystemExit, match="checksum"):
            get_uv.main()
        assert not (tmp_path / "bin").exists()
    else:
        get_uv.main()
        assert (tmp_path / "bin" / "uv").read_text().endswith("echo hello\n")
        assert (tmp_path / "bin" / "uv").stat().st_mode & 0o111
