"""Builds the pages of this folder as a site: `make docs`. With the tag `internal` the reference of all modules belongs to it."""

import os
import re
from pathlib import Path

import numba
from pygments.lexers.special import TextLexer

from attention_limits.pipeline.experiments.experiment import load_family

# numba then leaves functions as they are written, so that autodoc finds their arguments.
os.environ["NUMBA_DISABLE_JIT"] = "1"
numba.config.reload_config()
# The variable does not reach C functions, and these cannot call functions that are not compiled.
numba.cfunc = lambda signature: lambda function: function

project = "attention-limits"
author = "the authors of attention-limits"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
INTERNAL = tags.has("internal")  # noqa: F821
if INTERNAL:
    extensions.append("sphinx.ext.apidoc")
root_doc = "index"
exclude_patterns = ["_build", "_reference/modules.rst" if INTERNAL else "_reference"]
html_theme = "furo"
html_title = project
html_static_path = ["_static"]
html_css_files = ["gallery.css"]
html_js_files = ["gallery.js"]
default_role = "code"
smartquotes = False
myst_heading_anchors = 3
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
# Several attributes may share a line in this form: `rows, tokens : int`.
napoleon_custom_sections = [("Attributes", "params_style")]
apidoc_modules = [
    {
        "path": "../src/attention_limits",
        "destination": "_reference",
        "separate_modules": True,
        "module_first": True,
        "automodule_options": {"members", "show-inheritance"},
        # These have no callers outside of the command line and the workflow.
        "exclude_patterns": [f"**/{name}" for name in ("__main__.py", "cli", "figures", "readings.py", "audit")],
    }
]

HERE = Path(__file__).parent
# The navigation. Pages that no part names are guides.
PARTS = {
    "Tutorials": [
        "toycodes", "tutorials/ask", "tutorials/change_a_parameter", "tutorials/more_points", "tutorials/read_a_cube", "links",
        "tutorials/channel", "models", "tutorials/protein_contacts", "tutorials/library",
    ],
    "Results": ["gallery", "atlas", "accuracy", "audit", "scales", "coverage", "archive", "readers", "speed", "benchmarks"],
    "Guides": ["notation", "configuration", "cluster"],
    "Reference": ["python", "keys/files", *sorted(f"keys/{path.stem}" for path in HERE.glob("keys/[!f]*.md")), "rules"],
    "Development": ["architecture", *(["_reference/attention_limits"] if INTERNAL else [])],
}  # fmt: skip
NAMED = {"index", *(page for pages in PARTS.values() for page in pages)}
PARTS["Tutorials"] += sorted({f"tutorials/{path.stem}" for path in HERE.glob("tutorials/*.md")} - NAMED)
PARTS["Guides"] += sorted({path.stem for path in HERE.glob("*.md")} - NAMED)
PREFIXES = {path.parent.name: load_family(path.parent.name).prefix for path in HERE.glob("../config/*/experiments")}


def toctree(pages, caption=""):
    """A hidden table of contents: the navigation shows it."""
    options = [":hidden:", ":glob:", *([f":caption: {caption}"] if caption else [])]
    return "\n".join(["", "```{toctree}", *options, *pages, "```", ""])


def page(app, name, source):
    """Complete pages with their part of the navigation, and write links out of this folder as text: they lead to files."""
    if name == root_doc:
        source[0] += "".join(toctree(pages, caption) for caption, pages in PARTS.items())
    elif name == "python" and INTERNAL:
        # The reference of all modules holds the same functions.
        source[0] = re.sub(r"^(\.\. autofunction:: .*)$", r"\1\n   :no-index:", source[0], flags=re.MULTILINE)
    elif name == "gallery":
        source[0] += toctree(["figures/*"])
    elif name == "models":
        source[0] += toctree(["models/*"])
    elif name.startswith("keys/") and (prefix := PREFIXES.get(name.removeprefix("keys/"))):
        source[0] += toctree([f"/estimators/{prefix}_*"])
    if not name.startswith("_reference"):
        up = r"(?:\.\./)+" if "/" not in name else r"(?:\.\./){2,}"
        source[0] = re.sub(rf"\[([^]]*)\]\({up}([^)]*)\)", in_the_repository, source[0])


def in_the_repository(link):
    text, path = link.groups()
    return f"`{path}`" if path.startswith(text) else f"{text} (`{path}`)"


def restructured(app, what, name, obj, options, lines):
    """Docstrings are plain text: characters that look like markup are escaped; equations and tables keep their lines."""
    text, head, sections = "\n".join(lines), [], []
    paragraphs = re.split(r"\n\s*\n", text)
    for number, paragraph in enumerate(paragraphs):
        if re.match(r"\S.*\n---", paragraph):
            sections = paragraphs[number:]
            break
        if paragraph.startswith(" ") or re.search(r"\S {3,}\S", paragraph):
            head.append("::\n\n" + "\n".join("    " + line for line in paragraph.split("\n")))
        else:
            head.append(escaped(paragraph))
    lines[:] = "\n\n".join([*head, *map(escaped, sections)]).split("\n")


def literal_types(app, what, name, obj, options, lines):
    """The types of parameters are words and shapes, not names to look up."""
    field = re.compile(r"( *:(?:type|rtype)[^:]*:) (.+)")
    lines[:] = [field.sub(lambda found: f"{found[1]} ``{found[2].replace(chr(92), '')}``", line) for line in lines]


def skipped(app, what, name, obj, skip, options):
    """Leave out fields of a named tuple, which its own docstring describes, and `set`, which matplotlib adds to artists."""
    field = str(getattr(obj, "__doc__", "")).startswith("Alias for field number")
    return True if field or str(getattr(obj, "__module__", "")).startswith("matplotlib.") else None


def escaped(text):
    """The text with escaped markup, except between backticks."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        part if part.startswith("`") else re.sub(r"([*|\\]|(?<=\w)_(?!\w))", r"\\\1", part) for part in parts
    )


def setup(app):
    # GitHub draws these graphs; these pages show their text.
    app.add_lexer("mermaid", TextLexer)
    app.connect("source-read", page)
    app.connect("autodoc-skip-member", skipped)
    # Before napoleon, which makes markup out of the sections.
    app.connect("autodoc-process-docstring", restructured, priority=400)
    app.connect("autodoc-process-docstring", literal_types, priority=600)
