"""YAML read strictly: no duplicate keys, no aliases, text keys only; 1e-6 is a number, as in YAML 1.2."""

import re
from pathlib import Path
from typing import Any

import yaml

from attention_limits.pipeline.errors import SpecError

# Deeper files are mistakes, and libyaml's loader calls itself for each level.
_DEEPEST = 100


# The loader of libyaml is ten times faster than that of Python, which replaces it where it is not installed.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _StrictLoader(_Loader):
    """A safe loader that refuses text that is probably a mistake."""

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str) or key in seen:
                what = "is written twice" if key in seen else "is not text; put it in quotes"
                raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} {what}", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


_StrictLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
)


def _load(text: str):
    """The value of a YAML text. Raises YAMLError, or ValueError for a date such as 2025-13-45."""
    depth = 0
    for event in yaml.parse(text, Loader=_StrictLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        alias = isinstance(event, yaml.AliasEvent)
        if alias or depth > _DEEPEST:
            message = "aliases (*name) are not allowed; write the value" if alias else f"more than {_DEEPEST} levels"
            raise yaml.composer.ComposerError(None, None, message, event.start_mark)
    return yaml.load(text, Loader=_StrictLoader)


def read_yaml(path: Path) -> dict:
    """Read one YAML file whose top level is a mapping.

    Raises SpecError when the file cannot be read, is not YAML, or repeats a key.
    """
    try:
        data = _load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise SpecError([f"{path}: cannot be read: {error.strerror}"]) from None
    except UnicodeDecodeError as error:
        raise SpecError([f"{path}: not UTF-8 text: {error.reason} at byte {error.start}"]) from None
    except (yaml.YAMLError, ValueError) as error:
        raise SpecError([f"{path}: not YAML: {' '.join(str(error).split())}"]) from None
    if not isinstance(data, dict):
        raise SpecError([f"{path}: must be a mapping of keys to values, not {type(data).__name__}"])
    return data


def typed(value):
    """`value`, in which every text that YAML reads as a number or a truth value is replaced by this number or truth value.

    In a mapping of the command line (`--config set=...`) Snakemake leaves all values as texts.
    """
    if isinstance(value, dict):
        return {key: typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [typed(item) for item in value]
    if not isinstance(value, str):
        return value
    try:
        found = _load(value)
    except (yaml.YAMLError, ValueError):
        return value
    return found if isinstance(found, bool | int | float) else value
