"""YAML 1.2 read strictly: no duplicate keys, no aliases, no tags, text keys and decimal numbers only."""

import copy
import functools
import re
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.constructor import ConstructorError, SafeConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, ScalarEvent
from ruamel.yaml.nodes import Node
from ruamel.yaml.reader import ReaderError
from ruamel.yaml.resolver import BaseResolver, implicit_resolvers

from attention_limits.pipeline.base.errors import SpecError
from attention_limits.pipeline.base.user_files import read_text, same_letters

# Deeper files are mistakes, and libyaml calls itself for each level.
_DEEPEST = 100


class _Constructor(SafeConstructor):
    """Plain data; refuses keys that are probably a mistake."""

    def check_mapping_key(self, node, key_node, mapping, key, value):
        if not isinstance(key, str) or key in mapping:
            what = (
                "is written twice; write it once"
                if key in mapping
                else "is not text; put it in quotes, or write 0.5 for 0,5"
            )
            raise ConstructorError(None, None, f"the key {key!r} {what}", key_node.start_mark)
        return True


class _Resolver(BaseResolver):
    """Decimal numbers, truth values and null as in YAML 1.2, all else is text: no dates, no `<<`, no 0x1F, 0o17, 1_000.

    ruamel's resolver looks up the version for every word, which takes a fifth of the time of reading.
    """

    processing_version = (1, 2)

    def __init__(self, version=None, loader=None, loadumper=None):
        super().__init__(loadumper or loader)


for _versions, _tag, _pattern, _first in implicit_resolvers:
    if _Resolver.processing_version in _versions and _tag.rpartition(":")[2] in ("bool", "null"):
        _Resolver.add_implicit_resolver_base(_tag, _pattern, _first)
# Python reads whole numbers of at most 4300 digits.
_DECIMAL = r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?"
_NUMBERS = {"int": "[-+]?[0-9]{1,4000}", "float": rf"{_DECIMAL}|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"}
for _kind, _form in _NUMBERS.items():
    _Resolver.add_implicit_resolver_base(
        f"tag:yaml.org,2002:{_kind}", re.compile(f"({_form})$", re.ASCII), list("-+.0123456789")
    )


def _reader() -> YAML:
    """A safe reader: libyaml, four times as fast as the parser in Python, which replaces it where it is not installed."""
    reader = YAML(typ="safe")
    reader.Constructor, reader.Resolver = _Constructor, _Resolver
    return reader


def _checked(text: str) -> str:
    """`text`, without aliases, tags and too many levels."""
    depth = 0
    for event in _reader().parse(text):
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        problem = None
        if isinstance(event, AliasEvent):
            problem = "aliases (*name) are not allowed; write the value"
        elif getattr(event, "tag", None):
            problem = f"tags ({event.tag}) are not allowed; write the value without it"
        elif isinstance(event, ScalarEvent) and _after_comma(text, event):
            problem = f"{event.value} after a comma; write 0.{event.value} with a point, or a space after the comma"
        elif depth > _DEEPEST:
            problem = f"more than {_DEEPEST} levels; write at most {_DEEPEST}"
        if problem:
            raise ConstructorError(None, None, problem, event.start_mark)
    return text


def _after_comma(text: str, event: ScalarEvent) -> bool:
    """Whether a scalar is the digits of a decimal comma: [0,05] would be the numbers 0 and 5."""
    place = event.start_mark.index
    return re.fullmatch("0[0-9]+", event.value) is not None and text[place - 1 : place] == ","


def load(text: str):
    """The value of a YAML text. Raises YAMLError."""
    return _reader().load(_checked(text))


# All experiments of a family share its models, and the parser takes milliseconds.
_loaded = functools.lru_cache(maxsize=64)(load)


def nodes(text: str) -> Node | None:
    """The tree of a text that `read_yaml` accepts; each node has the places of its first and last character."""
    return YAML(typ="safe", pure=True).compose(text)


def read_yaml(path: Path) -> dict:
    """Read one YAML file whose top level is a mapping.

    Raises SpecError, with the file and the line, when the file cannot be read, is not YAML, or repeats a key.
    """
    try:
        text = read_text(path)
    except OSError as error:
        raise SpecError([f"{path}: cannot be read: {error.strerror}"]) from None
    except ValueError as error:
        raise SpecError([str(error)]) from None
    try:
        data = copy.deepcopy(_loaded(text))
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = ", ".join(part for part in (error.context, error.problem) if part)
        if text[mark.index : mark.index + 1] == "\t":
            what = "a tab; indent with spaces"
        raise SpecError([f"{path}: line {mark.line + 1}, column {mark.column + 1}: not YAML: {what}"]) from None
    except ReaderError as error:
        line = 1 + text.count("\n", 0, error.position)
        raise SpecError(
            [f"{path}: line {line}: not YAML: the control character U+{ord(text[error.position]):04X}"]
        ) from None
    except YAMLError as error:
        raise SpecError([f"{path}: not YAML: {' '.join(str(error).split())}"]) from None
    if not isinstance(data, dict):
        raise SpecError([f"{path}: must be a mapping of keys to values, not {type(data).__name__}"])
    return data


def typed(value):
    """`value`, in which every text that YAML reads as a number, a truth value or null is replaced by what it reads.

    In a mapping of the command line (`--config set=...`) Snakemake leaves all values as texts.
    """
    if isinstance(value, dict):
        return {key: typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [typed(item) for item in value]
    if not isinstance(value, str):
        return value
    value = same_letters(value)
    try:
        found = load(value)
    except YAMLError:
        return value
    # An empty text, which YAML reads as null too, stays.
    return found if isinstance(found, bool | int | float) or (found is None and value.strip()) else value
