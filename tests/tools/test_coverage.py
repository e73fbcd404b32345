"""The page of coverage names only code and figures that exist."""

import re

import pytest

from attention_limits.pipeline.experiments.experiment import load_family
from attention_limits.pipeline.experiments.yaml_reader import read_yaml
from toy import REPOSITORY

FAMILIES = [path.parent.name for path in sorted((REPOSITORY / "config").glob("*/experiments"))]


def sections():
    """The text of each family, by its name."""
    parts = re.split(
        r"^## `(\w+)`.*$", (REPOSITORY / "docs" / "coverage.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("family", FAMILIES)
def test_places_exist(family):
    """Modules and folders of the family, of the package, of the tests of the family, or from the root of the repository."""
    places = re.findall(r"`([\w/]+(?:\.py|/|\.yaml))`", sections()[family])
    package = REPOSITORY / "src" / "attention_limits"
    roots = package / family, package, REPOSITORY / "tests" / family, REPOSITORY
    assert len(places) > 5
    assert [place for place in places if not any((root / place).exists() for root in roots)] == []


@pytest.mark.parametrize("family", FAMILIES)
def test_figures_exist(family):
    prefix = load_family(family).prefix
    named = set(re.findall(rf"`{prefix}_(\w+)`", sections()[family]))
    assert len(named) > 5
    assert named - set(read_yaml(REPOSITORY / "config" / family / "figures.yaml")) <= set(
        load_family(family).estimators
    )
