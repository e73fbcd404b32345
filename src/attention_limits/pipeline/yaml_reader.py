"""YAML read strictly: no duplicate keys, no aliases, text keys only, finite numbers only."""

import math
from pathlib import Path

import yaml

from attention_limits.pipeline.errors import SpecError


class _StrictLoader(yaml.SafeLoader):
    """A safe loader that refuses text that is probably a mistake."""

    def compose_node(self, parent, index):
        if self.check_event(yaml.events.AliasEvent):
            raise yaml.composer.ComposerError(
                None, None, "aliases (*name) are not allowed; write the value", self.peek_event().start_mark
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                message = f"the key {key!r} is not text; put it in quotes"
                raise yaml.constructor.ConstructorError(None, None, message, key_node.start_mark)
            if key in seen:
                message = f"the key {key!r} is written twice"
                raise yaml.constructor.ConstructorError(None, None, message, key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> dict:
    """Read one YAML file whose top level is a mapping.

    Raises SpecError when the file cannot be read, is not YAML, repeats a key, or holds NaN or an infinity.
    """
    try:
        data = yaml.load(Path(path).read_text(encoding="utf-8"), Loader=_StrictLoader)
    except OSError as error:
        raise SpecError([f"{path}: cannot be read: {error.strerror}"]) from None
    except UnicodeDecodeError as error:
        raise SpecError([f"{path}: not UTF-8 text: {error.reason} at byte {error.start}"]) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise SpecError([f"{path}: {where}{error.problem}"]) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        # ValueError: a date such as 2025-13-45, or an integer of thousands of digits.
        raise SpecError([f"{path}: not YAML: {' '.join(str(error).split())}"]) from None
    if not isinstance(data, dict):
        raise SpecError([f"{path}: must be a mapping of keys to values, not {type(data).__name__}"])
    problems = [f"{path}: {'.'.join(keys)}: {value!r}: must be a finite number" for keys, value in _not_finite(data)]
    if problems:
        raise SpecError(problems)
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
        found = yaml.load(value, Loader=_StrictLoader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return value
    return found if isinstance(found, bool | int | float) else value


def _not_finite(value, keys=()):
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _not_finite(item, (*keys, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _not_finite(item, (*keys, str(index)))
    elif (isinstance(value, float) and not math.isfinite(value)) or (isinstance(value, int) and abs(value) >= 2**63):
        yield keys, value
