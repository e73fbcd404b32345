"""Readers of alignments: formats, insertions, letters, filters, and the line of every mistake."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_limits.potts_mlm.proteins.alignment import ALPHABETS, Alphabet, held_out, read_alignment
from attention_limits.potts_mlm.proteins.formats import read_letters
from attention_limits.potts_mlm.schema.proteins import Alignment

DNA, RULES = Alphabet("dna"), Alignment.Solver()


def text_of(found, letters):
    return ["".join(letters[code] for code in row) for row in found.states]


@given(
    # A `-` in each column would else be needed for a column of dots.
    st.lists(st.text("-ACGT", min_size=4, max_size=4), min_size=2, max_size=8),
    st.lists(st.text("acgt", max_size=3), min_size=5, max_size=5),
    st.integers(1, 4),
    st.booleans(),
)
def test_all_formats_of_an_alignment_are_one_alignment(tmp_path_factory, rows, inserts, width, windows):
    """FASTA, A2M with dots, A3M and Stockholm with and without a reference line; the first row has the insertions."""
    folder, newline = tmp_path_factory.mktemp("alignment"), "\r\n" if windows else "\n"

    def with_inserts(row, inserted):
        return "".join(a + b for a, b in zip([*inserted], [*row, ""], strict=True))

    dots = ["." * len(item) for item in inserts]
    wide = [with_inserts(row, inserts if k == 0 else dots) for k, row in enumerate(rows)]
    ragged = [text.replace(".", "") for text in wide]
    reference = with_inserts("xxxx", dots)

    def fasta(texts):
        lines = []
        for number, row in enumerate(texts):
            lines += [f">s{number} text", *(row[k : k + width] for k in range(0, len(row), width)), ""]
        return newline.join(lines)

    def stockholm(*extra):
        return newline.join(["# STOCKHOLM 1.0", *(f"s{k} {row}" for k, row in enumerate(wide)), *extra, "//", ""])

    files = {
        "plain.fasta": fasta(rows),
        "dots.a2m": fasta(wide),
        "ragged.a3m": fasta(ragged),
        "own.sto": stockholm(),
        "reference.sto": stockholm(f"#=GC RF {reference}"),
    }
    for name, text in files.items():
        (folder / name).write_bytes(text.encode())
        found = read_alignment(folder / name, DNA, RULES)
        assert text_of(found, ALPHABETS["dna"]) == rows, name
        assert len(set(found.names)) == len(rows)
        assert found.insertions == (0 if name.startswith("plain") else sum(map(len, inserts)))
        assert found.columns.tolist() == [1, 2, 3, 4]


def test_blocks_of_stockholm_are_joined(tmp_path):
    path = tmp_path / "a.sto"
    path.write_text("# STOCKHOLM 1.0\n#=GF ID x\na AC\nb A-\n\na GT\nb G.\n//\n")
    assert text_of(read_alignment(path, DNA, RULES), ALPHABETS["dna"]) == ["ACGT", "A-G-"]


def test_other_letters_follow_the_rule_and_are_counted(tmp_path):
    path = tmp_path / "a.fasta"
    path.write_text(">a\nACDX\n>b\nABDE\n>c\nACDE\n>d\nAC*E\n>e\n-CDE\n")
    gap, drop = (
        read_alignment(path, Alphabet("protein"), Alignment.Solver(other_letters=rule)) for rule in ("gap", "drop")
    )
    assert text_of(gap, ALPHABETS["protein"]) == ["ACD-", "A-DE", "ACDE", "AC-E", "-CDE"]
    assert text_of(drop, ALPHABETS["protein"]) == ["ACDE", "-CDE"]
    assert drop.names == ("c", "e")
    assert (gap.other_letters, gap.sequences_dropped_letters) == (3, 0)
    assert (drop.other_letters, drop.sequences_dropped_letters, drop.sequences_read) == (3, 3, 5)


def test_rna_reads_t_as_u_and_lower_case_alone(tmp_path):
    path = tmp_path / "a.fasta"
    path.write_text(">a\nacgu\n>b\nactn\n")
    assert text_of(read_alignment(path, Alphabet("rna"), RULES), ALPHABETS["rna"]) == ["ACGU", "ACU-"]


def test_filters_drop_columns_first(tmp_path):
    """Column 3 has three gaps of four and goes; then only d has more gaps than half of its columns."""
    path = tmp_path / "a.fasta"
    path.write_text(">a\nACGT\n>b\nAC-T\n>c\nA--T\n>d\n-C--\n")
    found = read_alignment(path, DNA, Alignment.Solver(max_column_gaps=0.5, max_sequence_gaps=0.5))
    assert found.columns.tolist() == [1, 2, 4]
    assert text_of(found, ALPHABETS["dna"]) == ["ACT", "ACT", "A-T"]
    assert (found.sequences_dropped_gaps, found.columns_read) == (1, 4)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.fasta", "", "0 sequences; at least 2"),
        ("a.fasta", ">a\nACG\n", "1 sequences; at least 2"),
        ("a.fasta", "ACG\n", "line 1: a header"),
        ("a.fasta", ">a\nACG\n>b\nAC\n", "line 3: the sequence 'b' has 2 letters, the first one 3"),
        ("a.fasta", ">a\nACG\n>b\n>c\nACG\n", "line 3: the sequence 'b' has no letters"),
        ("a.fasta", ">a\nACG\n>b\nAé-\n", "line 4, column 2: 'é' is no letter"),
        ("a.fasta", ">a\nACg\n>b\nACt\n", "1 columns, the first one 3, have lower-case letters alone"),
        ("a.a3m", ">a\nACG\n>b\nACG\n\0>a\nAC\n>b\nAG\n", "line 5: a NUL byte, after which another alignment begins"),
        ("a.fasta", ">\0a\0\n\0A\0C\0", "line 1: a NUL byte, so this is no text"),
        ("a.fasta", "x\n\0\r\0IHDR", "line 2: a NUL byte, so this is no text"),
        # Invisible characters, a second mark of the byte order, an indented header, marks of a conflict of git.
        ("a.fasta", ">a\nACG\n>b\nA\u200bCG\n", r"line 4, column 2: '\\u200b' is no letter in the sequence 'b'"),
        ("a.fasta", ">a\nACG\n>b\nACG\n\ufeff>c\nACG\n", r"line 5, column 1: '\\ufeff' is no letter"),
        ("a.fasta", ">a\nACG\n >b\nACG\n>c\nACG\n", "line 3, column 1: ' ' is no letter in the sequence 'a'"),
        ("a.fasta", ">a\nACG\n<<<<<<< HEAD\n>b\nACG\n", "line 3, column 8: ' ' is no letter"),
        ("a.aln", "CLUSTAL W\n\na ACG\nb ACG\n", "line 1: Clustal text; allowed: FASTA"),
        ("a.phy", "\n 2 3\na ACG\nb ACG\n", "line 2: PHYLIP text; allowed: FASTA"),
        ("a.fq", "@a\nACG\n+\nIII\n", "line 1: FASTQ text; allowed: FASTA"),
        ("a.meg", "#mega\n#a\nACG\n#b\nACG\n", "line 1: MEGA text; allowed: FASTA"),
        (
            "protein.fa",
            ">a\nMKVWL\n>b\nMKVWC\n",
            r"9 of 10 letters are outside of the alphabet dna \(-ACGT\); set model.alphabet",
        ),
        ("a.sto", "# STOCKHOLM 1.0\na AC\nb AC\n//\n# STOCKHOLM 1.0\n", "line 5: more than one alignment"),
        ("a.fasta", ">a\nAC1\n>b\nACG\n", "line 2, column 3: '1' is no letter"),
        ("a.fasta", ">a\nA\n>b\nC\n", "1 match columns"),
        ("a.a3m", ">a\nacgACG\n>b\nACaG\n>c\nAC\n", "line 5: the sequence 'c' has 2 letters"),
        ("a.fasta", ">a\nAc-\n>b\nA-g\n", "are ambiguous; set solver.format"),
        ("a.sto", "# STOCKHOLM 1.0\na AC\nb ACG\n//\n", "line 3: the sequence 'b' has 3 letters"),
        ("a.sto", "# STOCKHOLM 1.0\na AC\na AC\n//\n", "line 3: the name 'a' stands twice"),
        ("a.sto", "# STOCKHOLM 1.0\na AC\nb AC x\n//\n", "line 3: a name and a sequence are expected"),
        ("a.sto", "# STOCKHOLM 1.0\na AC\nb AC\n", "line 3: the file ends without the line //"),
        ("a.sto", "# STOCKHOLM 1.0\na AC\nb AC\n#=GC RF xxx\n//\n", "RF has 3 characters, the sequences have 2"),
    ],
)
def test_bad_alignments_are_named(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_alignment(path, DNA, RULES)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (Alignment.Solver(max_column_gaps=0.0), r"0 of 3 columns have at most 0 gaps \(solver.max_column_gaps\)"),
        (
            Alignment.Solver(max_sequence_gaps=0.0),
            "0 of 3 sequences are left; 0 have other letters, 3 more than 0 gaps",
        ),
    ],
)
def test_filters_that_leave_nothing_are_named(tmp_path, rules, message):
    path = tmp_path / "a.fasta"
    path.write_text(">a\n-AC\n>b\nA-C\n>c\nAC-\n")
    with pytest.raises(ValueError, match=message):
        read_alignment(path, DNA, rules)


def rows_of(path, *settings):
    return ["".join(map(chr, row)) for row in read_letters(path, *settings).codes]


def test_a_format_that_is_said_is_used(tmp_path):
    path = tmp_path / "a.fasta"
    path.write_text(">a\nAc-\n>b\nA-g\n")
    assert rows_of(path, "fasta") == ["AC-", "A-G"]
    assert rows_of(path, "a3m") == ["A-", "A-"]


def test_masked_letters_and_insertions(tmp_path):
    path = tmp_path / "a.fasta"
    path.write_text(">a\nACgT\n>b\naCtT\n")
    assert rows_of(path, "auto", "letter") == ["ACGT", "ACTT"]
    assert rows_of(path, "fasta", "insertion") == ["ACT", "ACT"]


def test_names_may_repeat_count_once_or_be_refused(tmp_path):
    path = tmp_path / "a.fasta"
    path.write_text(">a\nACG\n>b\nACG\n>a\nACT\n")
    assert rows_of(path) == ["ACG", "ACG", "ACT"]
    assert rows_of(path, "auto", "auto", "keep_first") == ["ACG", "ACG"]
    path.write_text(">a\nACG\n>a\nACT\n")
    with pytest.raises(ValueError, match="1 sequences; at least 2 are needed"):
        read_letters(path, "auto", "auto", "keep_first")
    path.write_text(">a\nACG\n>b\nACG\n>a\nACT\n")
    with pytest.raises(
        ValueError, match=r"line 5: the name 'a' is that of line 1 too \(solver.repeated_names: refuse\)"
    ):
        read_letters(path, "auto", "auto", "refuse")


def test_names_in_two_normal_forms_are_one_name(tmp_path):
    """A composed letter, and a letter followed by a separate accent."""
    path = tmp_path / "a.fasta"
    path.write_text(">caf\u00e9\nACG\n>b\nACG\n>cafe\u0301\nACT\n", encoding="utf-8")
    with pytest.raises(ValueError, match="line 5: the name 'caf\u00e9' is that of line 1 too"):
        read_letters(path, "auto", "auto", "refuse")
    assert read_letters(path, "auto", "auto", "keep_first").names == ("caf\u00e9", "b")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "other names of annotation.a3m",
            ">ss_pred description\nHHE\n>ss_conf\n987\n>a\nACG\n>b\nAiC-\n>sa_dssp\nABC\n",
        ),
        ("comments.a3m", "#3\t1\n>a\nACG\n; a remark\n>b\nAC-\n"),
        ("stops in all.fasta", ">a\nACG*\n>b\nAC-*\n"),
        ("a stop beside a gap.fasta", ">a\nACG*\n>b\nAC--\n"),
        ("a stop in one.fasta", ">a\nACG*\n>b\nAC-\n"),
        ("old line ends.fasta", ">a\rACG\r>b\rAC-\r"),
        ("line ends of str.splitlines in a header.fasta", ">a\x0b\x1c\u2028|\x85\nACG\n>b\nAC-\n"),
        ("blank lines first.sto", "\n \n# STOCKHOLM 1.0\na ACG\nb AC-\n//\n\n"),
        ("a last NUL.a3m", ">a\nACG\n>b\nAC-\n\0"),
    ],
)
def test_usual_files_are_read(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(text.encode())
    assert rows_of(path) == ["ACG", "AC-"]


@pytest.mark.parametrize(("fraction", "expected"), [(1e-9, 1), (0.25, 2), (0.999, 7)])
def test_a_split_leaves_a_sequence_on_either_side(fraction, expected):
    assert held_out(8, fraction) == expected


def test_gap_of_an_alphabet():
    assert Alphabet("AC-").gap == 2
    assert np.array_equal([Alphabet(name).gap for name in ALPHABETS], [0, 0, 0])


def test_unknown_letters_are_not_those_of_another_alphabet(tmp_path):
    """X and N stand for any letter, so that a file of them is no protein that is read as DNA."""
    (tmp_path / "a.fa").write_text(">p1;a\nNNNXA\n>b\nNNNCA\n")
    assert read_alignment(tmp_path / "a.fa", DNA, Alignment.Solver(max_column_gaps=1.0)).other_letters == 7
