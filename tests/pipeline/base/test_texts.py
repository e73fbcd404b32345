"""The opener of text files of a user: compression, encodings, line ends, and what it refuses."""

import bz2
import gzip
import lzma
import os
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_limits.pipeline.base.texts import lines_of, read_text

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
