"""Links by name: those provided by this package, and a user's own from a Python file."""

import importlib
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path

from attention_limits.pipeline.base.errors import allowed_names
from attention_limits.pipeline.base.user_files import object_of_file, require_parameters, user_file
from attention_limits.sequence_multi_index.links.declarations import attribute_problems
from attention_limits.sequence_multi_index.links.link import Link
from attention_limits.sequence_multi_index.links.wrappers import (
    CorrelatedTokens,
    FunctionOfFields,
    OutputNoise,
    reads_fields,
)

# Module below this package, and name in it. Imported by name only, so that an edit to one link touches nothing else.
PROVIDED = {
    "deep_attention": "attention.deep:DeepAttention",
    "untied": "attention.untied:UntiedAttention",
    "rank_attention": "attention.rank:RankAttention",
    "untied_heads": "attention.untied_heads:UntiedHeads",
    "multi_head": "heads.multi_head:MultiHeadAttention",
    "untied_multi_head": "heads.untied_multi_head:UntiedMultiHead",
    "learned_readout": "heads.learned_readout:LearnedReadout",
    "sequence_output": "attention.sequence_output:SequenceOutput",
    "positional_attention": "attention.positional:PositionalAttention",
    "rescaled_attention": "attention.large_depth:RescaledAttention",
    "committee_depth": "attention.large_depth:CommitteeDepth",
    "large_depth": "attention.large_depth:LargeDepth",
    "phase_retrieval": "one_token:phase_retrieval",
    "product": "one_token:product",
    "monomial": "one_token:Monomial",
    "sum_of_squares": "one_token:SumOfSquares",
    "sign_product": "one_token:SignProduct",
    "committee": "one_token:Committee",
    "linear": "linear:Linear",
    "largest_row": "linear:LargestRow",
}

# Keys of a model that belong to the weights and to the dimensions of a token (`priors.loading`), not to the link.
OF_THE_WEIGHTS = frozenset({"prior", "covariance", "participation_ratio"})


def load_link(model: Mapping, project: Path) -> Link:
    """The link that the `model` section of a specification describes.

    Parameters
    ----------
    model : mapping
        `link`: a name of `PROVIDED`, or `path/to/file.py:name` of a user's own: a class or a function that returns a `Link`, or
        a function of the fields h, whose shape the keys `rows` and `tokens` give, by default 1;
        `noise`: variance of Gaussian output noise, 0 or absent for none; `token_covariance`: that of the tokens, absent for
        independent ones; `prior`, `covariance` and `participation_ratio`: left out, they belong to `priors.loading`; everything
        else, and the items of the mapping `parameters`, goes to the link as keyword arguments.
    project : Path
        Folder that relative paths start from.

    Raises
    ------
    ValueError
        If there is no such link, if it does not take these parameters, or refuses their values.
    """
    parameters = {key: value for key, value in model.items() if key not in OF_THE_WEIGHTS}
    name, noise, more = parameters.pop("link"), parameters.pop("noise", 0.0), parameters.pop("parameters", {})
    covariance = parameters.pop("token_covariance", None)
    twice = sorted(set(parameters) & set(more))
    if twice:
        raise ValueError(f"{', '.join(twice)}: given twice, in parameters too")
    parameters |= more
    make = _maker(name, Path(project))
    if own := reads_fields(make):
        rows, tokens = (parameters.pop(key, 1) for key in ("rows", "tokens"))
    allowed = {key: item for key, item in inspect.signature(make).parameters.items() if not (own and key == "h")}
    # A function of the fields with another name of its argument is more likely than a function that makes a link and needs one.
    first = next(iter(allowed), "h")
    needed = first != "h" and allowed[first].default is inspect.Parameter.empty and first not in parameters
    of_fields = (
        f"a function of the fields calls its first argument h, not {first}; as a function that returns a link: "
        if needed and not (own or inspect.isclass(make) or name in PROVIDED)
        else ""
    )
    if not any(item.kind is inspect.Parameter.VAR_KEYWORD for item in allowed.values()):
        unknown = sorted(set(parameters) - set(allowed))
        if unknown:
            raise ValueError(
                f"{of_fields}{', '.join(unknown)}: not a parameter of the link {name}; {allowed_names(unknown[0], allowed)}"
            )
    missing = [key for key, item in allowed.items() if item.default is item.empty and key not in parameters]
    missing = [
        key
        for key in missing
        if allowed[key].kind not in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    ]
    if missing:
        raise ValueError(f"{of_fields}the link {name} needs {', '.join(missing)}")
    if name not in PROVIDED:
        require_parameters(name, make, parameters)
    try:
        link = FunctionOfFields(make, rows, tokens, parameters) if own else make(**parameters)
    except ValueError:
        raise
    except (Exception, SystemExit) as error:
        # The code of a user.
        raise ValueError(f"the link {name} cannot be made: {type(error).__name__}: {error}") from error
    if not isinstance(link, Link):
        raise ValueError(f"{name} must be a Link or return one, not {type(link).__name__}")
    if found := attribute_problems(link):
        raise ValueError(f"the link {name}: {'; '.join(found)}")
    link = link if covariance is None else CorrelatedTokens(link, covariance)
    return OutputNoise(link, noise) if noise else link


def code_file(name: str, project: Path) -> Path | None:
    """The file below the folder `project` that a link of this `name` is defined in, if it is a user's own, else None."""
    path, separator, _ = name.rpartition(":")
    return user_file(project, path) if separator else None


def code_module(name: str) -> str | None:
    """The module of this package that a provided link of this `name` is defined in; None for any other name."""
    return f"{__package__}.{PROVIDED[name].partition(':')[0]}" if name in PROVIDED else None


def _maker(name: str, project: Path) -> Callable[..., Link]:
    if code_file(name, project) is None:
        if name.endswith(".py"):
            raise ValueError(f"the link {name} needs the name of its function or class: {name}:name")
        if name not in PROVIDED:
            raise ValueError(f"no link {name!r}; {allowed_names(name, PROVIDED, ', or path/to/file.py:name')}")
        return getattr(importlib.import_module(code_module(name)), PROVIDED[name].partition(":")[2])
    return object_of_file("link", name, project, "class or function {}", callable)
