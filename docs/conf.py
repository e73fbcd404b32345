"""Builds the pages of this folder and the reference of the library: `make docs`."""

import os
import re

import numba
from pygments.lexers.special import TextLexer

# numba then leaves functions as they are written, so that autodoc finds their arguments.
os.environ["NUMBA_DISABLE_JIT"] = "1"
numba.config.reload_config()
# The variable does not reach C functions, and these cannot call functions that are not compiled.
numba.cfunc = lambda signature: lambda function: function

project = "attention-limits"
author = "the authors of attention-limits"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.apidoc", "sphinx.ext.viewcode"]
root_doc = "README"
exclude_patterns = ["_build", "_reference/modules.rst"]
html_theme = "furo"
html_title = project
html_static_path = []
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

CONTENTS = """
```{toctree}
:hidden:
:glob:
*
tutorials/*
keys/*
estimators/*
```

```{toctree}
:hidden:
:caption: Reference
:maxdepth: 2
_reference/attention_limits
```
"""


def page(app, name, source):
    """Complete the first page, and write links out of this folder as text: they lead to files of the repository."""
    if name == root_doc:
        source[0] += CONTENTS
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
    """Leave out the fields of a named tuple: its own docstring describes them."""
    return True if str(getattr(obj, "__doc__", "")).startswith("Alias for field number") else None


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
