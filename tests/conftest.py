import pytest
from hypothesis import settings

from toy import Toy

# Cores are shared with other tests, so one slow example says nothing; the same examples each time.
settings.register_profile("house", deadline=None, derandomize=True)
settings.load_profile("house")


@pytest.fixture
def toy(tmp_path):
    """A fresh copy of the toy project, in a path with a space; see toy.py."""
    return Toy(tmp_path / "a project")
