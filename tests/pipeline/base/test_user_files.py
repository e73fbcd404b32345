"""Text files of the user: compression, encodings, line ends, and what is refused. Python files are executed at each call."""

import bz2
import gzip
import lzma
import math
import os
import re
import sys
import tarfile
import unicodedata
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_limits.pipeline.base.user_files import (
    execute,
    lines_of,
    number,
    read_text,
    require_parameters,
    same_letters,
    user_file,
)

TEXT = "a: 1\nb: é β\n"


@pytest.mark.parametrize(
    "pack", [bytes, gzip.compress, bz2.compress, lzma.compress], ids=["plain", "gzip", "bzip2", "xz"]
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_a_text_is_read_whatever_wrote_it(tmp_path, pack, encoding):
    """The suffix says nothing."""
    path = tmp_path / "a.yaml"
    path.write_bytes(pack(TEXT.encode(encoding)))
    assert read_text(path) == TEXT


def test_another_encoding_is_named_with_its_line_or_replaced(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"first\r\nsecond\rth\xefrd\n")
    with pytest.raises(ValueError, match=r"a\.txt: line 3: not UTF-8 text: .* at byte 16"):
        read_text(path)
    assert read_text(path, otherwise="latin-1").endswith("th\u00efrd\n")


def test_what_is_no_text_file_is_refused(tmp_path):
    cut, archive, pipe = tmp_path / "cut.gz", tmp_path / "a.zip", tmp_path / "pipe"
    cut.write_bytes(gzip.compress(TEXT.encode() * 100)[:-9])
    with pytest.raises(ValueError, match=r"cut\.gz: damaged gzip file"):
        read_text(cut)
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("a", TEXT)
    with pytest.raises(ValueError, match=r"a\.zip: a zip archive; unpack it first"):
        read_text(archive)
    os.mkfifo(pipe)
    with pytest.raises(ValueError, match=r"pipe: no regular file; save its content in a file first"):
        read_text(pipe)
    with pytest.raises(FileNotFoundError):
        read_text(tmp_path / "missing")
    with pytest.raises(IsADirectoryError):
        read_text(tmp_path)


@given(
    st.lists(st.text(st.characters(exclude_characters="\r\n"), min_size=1), max_size=5),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_lines_end_at_line_ends_alone(lines, end):
    assert lines_of("".join(line + end for line in lines)) == lines
    assert lines_of(end.join(lines)) == (lines or [""])[: len(lines)]


def test_an_edit_counts_at_the_next_call(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("value = 1\n")
    assert execute(path).value == 1
    # Another size: Python compares size and time with those of its bytecode.
    path.write_text("value = 22\n")
    assert execute(path).value == 22
    assert "user_mine" not in sys.modules


@pytest.mark.parametrize(
    ("text", "message"), [("1 / 0\n", "ZeroDivisionError: division by zero"), ("x =\n", "SyntaxError: ")]
)
def test_an_exception_names_the_file(tmp_path, text, message):
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(ValueError, match=f"mine.py cannot be executed: {message}"):
        execute(tmp_path / "mine.py")


def test_a_file_of_another_kind_is_refused(tmp_path):
    (tmp_path / "mine.txt").write_text("value = 1\n")
    with pytest.raises(ValueError, match=r"mine\.txt: allowed: a file whose name ends in \.py"):
        execute(tmp_path / "mine.txt")


COMPOSED, DECOMPOSED = "fichier_\u00e9t\u00e9", "fichier_e\u0301te\u0301"


@pytest.mark.parametrize(("written", "named"), [(COMPOSED, DECOMPOSED), (DECOMPOSED, COMPOSED)])
def test_a_name_in_another_normal_form_is_the_same_file(tmp_path, written, named):
    """A Mac writes an accent as a separate character into the names of folders and files."""
    (folder := tmp_path / written).mkdir()
    (folder / f"{written}.txt").write_bytes(f"{DECOMPOSED}\n".encode())
    name = f"{named}/{named}.txt"
    assert user_file(tmp_path, name) == folder / f"{written}.txt"
    assert read_text(tmp_path / name) == f"{COMPOSED}\n"
    # The name itself comes first, and what is absent keeps its name for the message.
    (exact := tmp_path / name).parent.mkdir()
    exact.write_text("exact")
    assert user_file(tmp_path, name) == exact
    assert user_file(tmp_path, f"{COMPOSED}x") == tmp_path / f"{COMPOSED}x"


def test_two_files_of_one_name_are_not_chosen_from(tmp_path):
    """One letter with three marks: the disk has two orders of the marks, the name has the third order."""
    forms = ["a\u0323\u0302", "\u1ea1\u0302", "\u1ead"]
    for name in forms[:2]:
        (tmp_path / name).write_text(name)
    assert user_file(tmp_path, forms[2]) == tmp_path / forms[2]


@given(st.text())
def test_a_text_has_one_normal_form(text):
    assert same_letters(unicodedata.normalize("NFD", text)) == same_letters(text)


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_a_tar_archive_is_named(tmp_path, mode):
    (tmp_path / "a.txt").write_text("text")
    with tarfile.open(tmp_path / "a.tar", mode) as archive:
        archive.add(tmp_path / "a.txt", "a.txt")
    with pytest.raises(ValueError, match=r"a\.tar: a tar archive; unpack it first"):
        read_text(tmp_path / "a.tar")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_decimal_number_is_read_exactly(value):
    assert number(repr(value)) == value


@pytest.mark.parametrize("text", ["1_0", "\u0661", "0x1F", "nan", "inf", "", ".", "1e", "1,5", "\u22121", " 1"])
def test_no_other_number_is_read(text):
    with pytest.raises(ValueError, match="allowed: a decimal number"):
        number(text)


@pytest.mark.parametrize("text", ["import sys\nsys.exit(3)\n", "raise SystemExit\n"])
def test_a_file_that_ends_the_program_is_refused(tmp_path, text):
    (path := tmp_path / "own.py").write_text(text)
    with pytest.raises(ValueError, match=r"own\.py cannot be executed: SystemExit"):
        execute(path)


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("import attention_limits.attention_indexed.spectra", True),
        ("from attention_limits.plotting import hollow", True),
        ("import an_absent_library", False),
    ],
)
def test_a_module_of_ours_that_moved_has_a_hint(tmp_path, line, hint):
    (tmp_path / "own.py").write_text(line + "\n")
    with pytest.raises(ValueError, match=r"own\.py cannot be executed: (ModuleNotFound|Import)Error") as caught:
        execute(tmp_path / "own.py")
    assert ("lists the modules that moved" in str(caught.value)) is hint


def made(h, gain=1.0, order=2, wide=False, mode="a", parts=(1, 2), cut=math.inf, *, mean: float, name: "str", other):
    """A function of a file of the user."""


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("gain", math.nan, "nan: allowed: a finite number, as the default 1.0"),
        ("gain", -math.inf, "-inf: allowed: a finite number, as the default 1.0"),
        ("gain", "nan", "'nan': allowed: a finite number, as the default 1.0"),
        ("gain", "1,5", "'1,5': allowed: a finite number, as the default 1.0"),
        ("gain", True, "True: allowed: a finite number, as the default 1.0"),
        ("gain", None, "None: allowed: a finite number, as the default 1.0"),
        ("order", [2], "[2]: allowed: a finite number, as the default 2"),
        ("wide", 1, "1: allowed: true or false, as the default False"),
        ("mode", 5, "5: allowed: a text, as the default 'a'"),
        ("parts", 3, "3: allowed: a list, as the default (1, 2)"),
        ("parts", [1.0, [math.nan]], "[1.0, [nan]]: allowed: a list, as the default (1, 2)"),
        ("cut", math.inf, "inf: allowed: a finite number"),
        ("mean", "x", "'x': allowed: a finite number"),
        ("name", 1, "1: allowed: a text"),
        ("other", "1_000", "'1_000': allowed: a finite number"),
    ],
)
def test_a_parameter_has_the_type_of_its_default_or_annotation(key, value, allowed):
    with pytest.raises(ValueError, match=f"^{re.escape(f'f.py:made: parameter {key}: {allowed}')}$"):
        require_parameters("f.py:made", made, {key: value})


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_parameters_that_fit(value):
    good = {"gain": value, "order": value, "wide": True, "mode": "mean 2", "parts": [value], "cut": value, "mean": 3}
    require_parameters("f.py:made", made, {**good, "name": "a", "other": "sigmoid"})
    require_parameters("f.py:made", made, {"other": [value], "gain": np.float32(1), "order": np.int64(3)})
