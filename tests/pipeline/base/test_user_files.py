"""Files of the user are executed at each call, and their exceptions name the file."""

import sys

import pytest

from attention_limits.pipeline.base.user_files import execute


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
