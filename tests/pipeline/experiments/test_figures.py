"""The figures of this repository, by their entries in figures.yaml."""

import re

import pytest

from attention_limits.pipeline.audit import load_published
from toy import REPOSITORY, repository


@pytest.fixture(scope="module")
def project():
    return repository()


def test_a_run_of_the_papers_makes_the_figures_with_their_numbers(project):
    """All others are `extra`. contact_maps completes Figure 2 of Rende et al. for the second kind of couplings."""
    papers = {name for name, figure in project.figures.items() if not figure.extra}
    numbered = {name for name in project.figures if re.search(r"_fig\d", name)}
    assert papers == (numbered - {"smi_fig1_audit", "smi_fig3_right_public"}) | {"potts_contact_maps"}


def test_a_figure_draws_every_cube(project):
    """Or the audit reads it: the models of other papers have numbers and no curve.

    A run of the papers also makes the cubes that no figure draws, so that a new experiment is computed.
    """
    drawn = {(figure.family, cube) for figure in project.figures.values() for cube in figure.cubes}
    read = {(entry.family, cube) for entry in load_published(REPOSITORY, project.experiments) for cube in entry.cubes}
    undrawn = {(item.family, item.name) for item in project.all()} - drawn
    assert undrawn - read == set()
    assert all(family == "sequence_multi_index" and name.startswith("model_") for family, name in undrawn & read)
