"""The docstrings of the library contain everything that its reference needs: every name, parameter, error and source."""

import ast
import functools
import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "attention_limits"
FAMILIES = sorted(path.parent.name for path in PACKAGE.glob("*/variables.py"))
# Pydantic fields describe themselves, and the rest is called by the workflow alone.
OTHERS = ("specs", "schema", "cross_checks", "variables", "readings", "estimators", "figures")
MODULES = [
    path
    for name in (*FAMILIES, "numerics", "interface")
    for path in sorted((PACKAGE / name).rglob("*.py"))
    if not path.relative_to(PACKAGE / name).parts[0].startswith(OTHERS)
    and not (path.name == "__init__.py" and not path.read_text(encoding="utf-8"))
]
# A paper by its number or year, or our own derivation.
SOURCE = re.compile(r"arXiv:\d{4}\.\d{4,5}|\b(19|20)\d\d\b|\b[Dd]erived\b")
EQUATION = re.compile(r"\S (=|<-) \S")
CONSTRUCTORS = ("__init__", "__post_init__")


@dataclass
class Item:
    """A public object: its name and node, its own text, and the texts around it that may complete its own."""

    name: str
    node: ast.AST
    text: str
    around: str = ""
    # What is raised here or in a private function of the module that is called from here.
    raised: set = field(default_factory=set)


@functools.cache
def parsed(path):
    return ast.parse((PACKAGE / path).read_text(encoding="utf-8"))


def text_of(node):
    return ast.get_docstring(node) or ""


def names(text, name):
    """Whether the text speaks of a parameter; the article is no parameter."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)" + (r"(?! [a-z])" if name == "a" else ""), text)


def parameters(function):
    given = function.args
    found = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return [item.arg for item in found if item and item.arg not in ("self", "cls")]


def exceptions(node, private):
    """Names of the exceptions that a function raises itself or through the private functions it calls."""
    found, seen, left = set(), set(), [node]
    while left:
        for part in ast.walk(left.pop()):
            if isinstance(part, ast.Raise) and isinstance(part.exc, ast.Call):
                found.add(ast.unparse(part.exc.func))
            if isinstance(part, ast.Call):
                called = ast.unparse(part.func).removeprefix("self.")
                if called in private and called not in seen:
                    seen.add(called)
                    left.append(private[called])
    return found


def functions(body):
    return [node for node in body if isinstance(node, ast.FunctionDef)]


def public(body):
    return [node for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_")]


def bases(node, classes):
    """The classes of the family that a class descends from, the farthest first."""
    above = [classes[name] for name in map(ast.unparse, node.bases) if name in classes]
    return [*(further for base in above for further in bases(base, classes)), *above]


def items(tree, classes):
    """Everything public of a module."""
    module = text_of(tree)
    helpers = {node.name: node for node in functions(tree.body) if node.name.startswith("_")}
    for node in public(tree.body):
        if isinstance(node, ast.FunctionDef):
            yield Item(node.name, node, text_of(node), module, exceptions(node, helpers))
            continue
        own = helpers | {method.name: method for method in functions(node.body) if method.name.startswith("_")}
        made = [own[name] for name in CONSTRUCTORS if name in own]
        raised = set().union(*(exceptions(method, own) for method in made))
        yield Item(node.name, node, text_of(node), module, raised)
        above = bases(node, classes)
        inherited = {method.name: text_of(method) for base in above for method in functions(base.body)}
        for method in public(node.body):
            text = "\n".join([text_of(method), inherited.get(method.name, "")]).strip()
            around = "\n".join([text_of(node), *map(text_of, above), module])
            yield Item(f"{node.name}.{method.name}", method, text, around, exceptions(method, own))


def after_sections(text):
    """Whether a paragraph that is no section follows the sections of a docstring."""
    # The examples are the last section, and the only one of several paragraphs.
    text = text.partition("\n\nExamples\n---")[0]
    heads = [bool(re.match(r"\S.*\n---", part)) for part in re.split(r"\n\s*\n(?=\S)", text)]
    return True in heads and not all(heads[heads.index(True) :])


def complaints(item):
    """The omissions of the docstring of a public object."""
    if not item.text:
        return ["no docstring"]
    found = ["has text after its sections, which is read as part of the last"] if after_sections(item.text) else []
    found += [f"does not name {error}, which it raises" for error in sorted(item.raised) if error not in item.text]
    makers = [item.node] if isinstance(item.node, ast.FunctionDef) else functions(item.node.body)
    for maker in makers:
        if maker is item.node or maker.name in CONSTRUCTORS:
            everything = item.text + "\n" + item.around
            found += [f"does not name {name}" for name in parameters(maker) if not names(everything, name)]
    if isinstance(item.node, ast.ClassDef):
        fields = [part.target.id for part in item.node.body if isinstance(part, ast.AnnAssign)]
        found += [f"does not name {name}" for name in fields if not name.startswith("_") and not names(item.text, name)]
    return list(dict.fromkeys(found))


def check(tree, classes, numerics=False):
    """The omissions of all docstrings of a module; classes: those of its family by name."""
    module = text_of(tree)
    found = [] if module else ["no docstring"]
    everything = list(items(tree, classes))
    found += [f"{item.name}: {complaint}" for item in everything for complaint in complaints(item)]
    states = any(EQUATION.search(text) for text in (module, *(item.text for item in everything)))
    if states and not numerics and not SOURCE.search(module):
        found.append("states equations, and names no source (a paper, or: derived)")
    return found


@pytest.mark.parametrize("path", [path.relative_to(PACKAGE) for path in MODULES], ids=str)
def test_docstrings_are_complete(path):
    family = [parsed(other.relative_to(PACKAGE)) for other in MODULES if other.is_relative_to(PACKAGE / path.parts[0])]
    classes = {node.name: node for module in family for node in module.body if isinstance(node, ast.ClassDef)}
    assert check(parsed(path), classes, path.parts[0] in ("numerics", "interface")) == []


SAMPLE = '''
"""A module."""

def complete(x, scale):
    """y = x (n,) times `scale`; ValueError when it is zero."""
    _check(scale)

def _check(scale):
    if not scale:
        raise ValueError("zero")

def silent(a):
    """Half of a number."""
    return _check(a)

class Base:
    """Fields.

    Attributes
    ----------
    h : array (n, P)

    And more.
    """

    def forward(self, h, noise=None):
        """Output, with `noise` (n,)."""

class Derived(Base):
    """Has a width."""

    width: float
    depth: int

    def __init__(self, width, depth):
        raise KeyError(width)

    def forward(self, h, noise=None):
        return h

    def other(self, observed):
        pass
'''


def test_what_is_missing_is_found():
    tree = ast.parse(SAMPLE)
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    assert check(tree, classes) == [
        "silent: does not name ValueError, which it raises",
        "silent: does not name a",
        "Base: has text after its sections, which is read as part of the last",
        "Derived: does not name KeyError, which it raises",
        "Derived: does not name depth",
        "Derived.other: no docstring",
        "states equations, and names no source (a paper, or: derived)",
    ]
    assert check(ast.parse("x = 1"), {}) == ["no docstring"]
    assert check(ast.parse('"""y = h, derived here."""'), {}) == []


def test_all_families_are_looked_at():
    assert {"potts_mlm", "sequence_multi_index", "sequence_single_index"} <= set(FAMILIES)
