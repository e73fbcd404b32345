import pytest

from toy import Toy


@pytest.fixture
def toy(tmp_path):
    """A fresh copy of the toy project; see toy.py."""
    return Toy(tmp_path / "project")
