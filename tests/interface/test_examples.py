"""Every name of `attention_limits` has an example in its docstring, and prints what the example shows."""

import doctest
import inspect

import pytest

import attention_limits as al

LENIENT = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("name", al.__all__)
def test_the_example_is_true(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    function = getattr(al, name)
    (example,) = doctest.DocTestFinder(recurse=False).find(inspect.unwrap(function), name, globs={})
    assert example.examples
    runner = doctest.DocTestRunner(optionflags=LENIENT)
    report: list[str] = []
    runner.run(example, out=report.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)
