"""The one change of another library: what it needs of numba, and what happens without it. `test_compiled` tests its effect."""

import pytest

from attention_limits.numerics import compiled, own_helpers


def test_numba_works_as_own_helpers_needs_it():
    """If this fails after an update of numba, `numerics/own_helpers.py` is off, and the last bits of numbers are not certain."""
    assert own_helpers.differences() == []
    assert compiled.OWN_HELPERS


class Changed:
    """As the class of numba, but helpers are linked later, and no symbol is weak."""

    def _get_module_for_linking(self):
        return self._final_module.functions.linkage

    def finalize(self):
        self._optimize_final_module()
        self._link(self._linking_libraries)

    def _optimize_final_module(self):
        self.passes.run(self._final_module)


class Renamed:
    """No part has its name."""


@pytest.mark.parametrize(
    ("library", "missing"),
    [
        (
            Changed,
            [
                "Changed._get_module_for_linking: linkonce_odr",
                "Changed.finalize: _get_module_for_linking",
                "Changed.finalize: link_in",
            ],
        ),
        (Renamed, [f"Renamed.{name}: the method" for name in own_helpers.NEEDED]),
    ],
)
def test_nothing_is_changed_where_numba_works_in_another_way(library, missing):
    before = dict(vars(library))
    with pytest.warns(RuntimeWarning, match="compiled functions share helpers") as caught:
        assert not own_helpers.switch_on(library)
    assert vars(library) == before
    found = str(caught[0].message).partition("runs: ")[2].split("; ")
    assert found == [f"{part} is missing" for part in missing]
