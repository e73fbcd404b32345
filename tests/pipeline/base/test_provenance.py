import ast

import pytest

from attention_limits.pipeline.base import provenance
from attention_limits.pipeline.base.provenance import closure, code_digest, imported_modules
from toy import forget_code

FILES = {
    "__init__.py": "",
    "a/__init__.py": "",
    "a/estimator.py": "from attention_limits.a import kernels\nimport numpy\n\n\ndef run():\n    from .late import x\n",
    "a/kernels.py": '"""Doc."""\n\n\ndef f(x):\n    """Doc of f."""\n    if x < 0:\n        raise ValueError("one message")\n'
    "    return x + 1\n",
    "a/late.py": "from ..c import y\nx = 1\n",
    "b.py": "import attention_limits.a.kernels as k\nfrom attention_limits import c\n",
    "c.py": "y = 1\n",
    "pipeline/__init__.py": "",
    "pipeline/base/progress.py": "z = 1\n",
    "loud.py": "from attention_limits.pipeline.base.progress import z\n",
    "circle.py": "import attention_limits.circle\n",
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A separate package; returns a function that edits one of its files."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(provenance, "SOURCE", tmp_path)

    def edit(name, old, new):
        text = (tmp_path / name).read_text()
        assert old in text
        (tmp_path / name).write_text(text.replace(old, new))
        forget_code()

    forget_code()
    yield edit
    forget_code()


def names(module):
    return [name.removeprefix("attention_limits.") for name in closure(f"attention_limits.{module}")]


def test_closure_follows_every_form_of_import(package):
    assert names("a.estimator") == [
        "a",
        "a.estimator",
        "a.kernels",
        "a.late",
        "c",
    ]
    assert names("b") == ["a", "a.kernels", "b", "c"]
    assert names("c") == ["c"]
    assert names("circle") == ["circle"]


def test_a_missing_module_is_named(package):
    for name in ("attention_limits.none", "numpy"):
        with pytest.raises(ModuleNotFoundError, match=name):
            closure(name)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("a/kernels.py", '"""Doc."""', '"""Another."""'),
        ("a/kernels.py", '    """Doc of f."""\n', ""),
        ("a/kernels.py", "return x + 1", "return (x  +  1)  # why"),
        ("a/kernels.py", "\n\n\ndef", "\n# a comment\n\ndef"),
        ("b.py", "import", "import os\nimport"),
        ("a/kernels.py", '"one message"', '"another message"'),
    ],
)
def test_the_digest_stays_under_edits_that_change_nothing(package, file, old, new):
    before = code_digest("attention_limits.a.estimator")
    package(file, old, new)
    assert code_digest("attention_limits.a.estimator") == before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("a/kernels.py", "x + 1", "x + 2"),
        ("a/kernels.py", "x + 1", "x - 1"),
        ("a/kernels.py", "return x + 1", "return None"),
        ("a/kernels.py", "def f(x)", "def f(x, y=None)"),
        ("a/late.py", "x = 1", 'x = "1"'),
        ("c.py", "y = 1", "y = True"),
        ("a/__init__.py", "", "w = 1"),
    ],
)
def test_the_digest_changes_with_the_code(package, file, old, new):
    before = code_digest("attention_limits.a.estimator")
    package(file, old, new)
    assert code_digest("attention_limits.a.estimator") != before


def test_progress_messages_are_no_part_of_a_number(package):
    before = code_digest("attention_limits.loud")
    package("pipeline/base/progress.py", "z = 1", "z = 2")
    assert code_digest("attention_limits.loud") == before


def test_what_files_outside_import_from_the_package(package, tmp_path):
    own = tmp_path / "own.py"
    own.write_text(
        "import numpy\nfrom attention_limits.a.kernels import f\n\n\ndef g():\n    from attention_limits import c\n"
    )
    assert imported_modules(own) == ["attention_limits", "attention_limits.a.kernels", "attention_limits.c"]
    own.write_text("from attention_limits import (\n")
    assert imported_modules(own) == []
    assert imported_modules(tmp_path / "matrix.npy") == []


def test_further_modules_and_files_count(package, tmp_path):
    caption = tmp_path / "caption.rst"
    caption.write_text("one")
    digests = {
        code_digest("attention_limits.c"),
        code_digest("attention_limits.c", "attention_limits.b"),
        code_digest("attention_limits.c", extra_files=[caption]),
    }
    caption.write_text("two")
    digests.add(code_digest("attention_limits.c", extra_files=[caption]))
    assert len(digests) == 4


def test_init_files_of_the_package_have_no_code():
    found = []
    # That of the package itself imports on demand, and enters no digest.
    assert provenance.PACKAGE in provenance.INERT
    for path in provenance.SOURCE.glob("*/**/__init__.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        # A docstring is no code.
        if len(tree.body) > (ast.get_docstring(tree) is not None):
            found.append(path)
    assert not found, "code in them would make every estimator depend on it"


def test_a_snakefile_beside_other_code_is_told(tmp_path):
    """A worktree without an environment of its own; a checkout with its own; a folder that holds no code."""
    checkout = provenance.SOURCE.parents[1]
    assert provenance.other_code(checkout) == ""
    assert provenance.other_code(tmp_path) == ""
    (tmp_path / "src/attention_limits").mkdir(parents=True)
    other = f"{provenance.SOURCE}, not {tmp_path}/src/attention_limits"
    assert f"the package of another checkout, {other}" in provenance.other_code(tmp_path)


def test_an_unchanged_file_is_parsed_once_by_all_processes(package, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "caches"))
    parsed, parse = [], ast.parse

    def counted(source, *arguments, **options):
        parsed.append(source)
        return parse(source, *arguments, **options)

    def digest():
        # As in a new process.
        forget_code()
        provenance._kept.cache_clear()
        parsed.clear()
        return code_digest("attention_limits.a.estimator")

    monkeypatch.setattr(ast, "parse", counted)
    first = digest()
    assert len(parsed) == 6
    assert digest() == first
    assert parsed == []
    package("c.py", "y = 1", "y = 2")
    changed = digest()
    assert changed != first
    assert parsed == [b"y = 2\n"]
    for file in (tmp_path / "caches").glob("attention-limits/modules-*/*"):
        file.write_text("[")
    assert digest() == changed
    assert len(parsed) == 6
    # Where no folder can be written, each process parses.
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    assert digest() == changed
    assert len(parsed) == 6
    provenance._kept.cache_clear()
