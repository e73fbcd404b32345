import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_limits.potts_mlm.alignment import held_out, read_alignment

ALPHABET = "-ACGT"


@given(st.lists(st.text(ALPHABET, min_size=4, max_size=4), min_size=2, max_size=8), st.integers(1, 4), st.booleans())
def test_alignments_are_read_as_they_were_written(tmp_path_factory, rows, width, windows):
    path = tmp_path_factory.mktemp("alignment") / "a.fasta"
    newline = "\r\n" if windows else "\n"
    lines = []
    for number, row in enumerate(rows):
        lines += [f">s{number} text", *(row[k : k + width] for k in range(0, 4, width)), ""]
    path.write_bytes(newline.join(lines).encode())
    found = read_alignment(path, ALPHABET)
    assert ["".join(ALPHABET[code] for code in row) for row in found.states] == rows
    assert found.names == tuple(f"s{number} text" for number in range(len(rows)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (">a\nAC\n>b\nAXC\n", "line 4, column 2: unknown letter 'X'; allowed: -ACGT"),
        (">a\nACG\n>b\nAC\n", "line 3: the sequence 'b' has 2 letters, the first one 3"),
        (">a\nACG\n>b\n>c\nACG\n", "line 3: the sequence 'b' has 0 letters"),
        ("ACG\n", "line 1: a header"),
        (">a\nACG\n", "1 sequences; at least 2"),
        ("", "0 sequences; at least 2"),
        (">a\nA\n>b\nC\n", "length 1; at least 2"),
        (">a\nacg\n>b\nACG\n", "line 2, column 1: unknown letter 'a'"),
    ],
)
def test_bad_alignments_are_named(tmp_path, text, message):
    path = tmp_path / "a.fasta"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_alignment(path, ALPHABET)


@pytest.mark.parametrize(("fraction", "expected"), [(1e-9, 1), (0.25, 2), (0.999, 7)])
def test_a_split_leaves_a_sequence_on_either_side(fraction, expected):
    assert held_out(8, fraction) == expected
