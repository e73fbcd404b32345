"""What is wrong with an experiment file as it was read: keys, values, names; and the overlays of its scales."""

from pathlib import Path

from attention_limits.grid import axis_values
from attention_limits.schema import load_schema, overlaid, problems

SCALES = ("laptop", "paper", "smoke")
# The sections of a file that list parts to compute, by name of their kind.
SECTIONS = ("data", "estimators")

Problem = tuple[tuple[str, ...], str]


def load_kinds(folder: Path) -> dict[str, dict]:
    """The schemas of all kinds of a family; those in a folder below, such as `parts`, are no kinds."""
    return {file.stem: load_schema(file) for file in sorted(folder.glob("*.json"))}


def mapping(value) -> dict:
    """`value` when it is a mapping, else an empty one: wrong types are reported elsewhere."""
    return value if isinstance(value, dict) else {}


def scaled_documents(document: dict, frame: dict, kinds: dict[str, dict]) -> tuple[dict[str, dict], list[Problem]]:
    """The document of every scale, and all problems of all of them, each at the keys where it was written."""
    found = document_problems(document, frame, kinds)
    scaled = dict.fromkeys(SCALES, document)
    for scale, overlay in mapping(document.get("scales")).items():
        if not isinstance(overlay, dict) or scale not in SCALES:
            continue
        unknown = _unknown_parts(document, overlay, scale)
        found += unknown
        if unknown:
            continue
        scaled[scale] = overlaid(document, overlay, _other_axis)
        for keys, message in document_problems(scaled[scale], frame, kinds):
            if (keys, message) not in found:
                found.append((at_home(keys, document, scale), message))
    return scaled, found


def document_problems(document: dict, frame: dict, kinds: dict[str, dict]) -> list[Problem]:
    """Everything wrong with the document of one scale, as far as the schemas say."""
    found = problems(document, frame)
    model = mapping(document.get("model"))
    parts = [(section, *item) for section in SECTIONS for item in mapping(document.get(section)).items()]
    read = set()
    for section, name, part in parts:
        if name not in kinds:
            found.append(((section, name), f"no such estimator; allowed: {', '.join(kinds) or 'none'}"))
            continue
        kind = kinds[name]["properties"]
        read |= set(kind["model"]["properties"])
        if isinstance(part, dict):
            found += _part_problems((section, name), part, model, kind)
            found += _reading_problems((section, name), part, mapping(document.get("data")), kinds[name])
    if parts and {name for _, name, _ in parts} <= set(kinds):
        allowed = ", ".join(sorted(read)) or "none"
        found += [(("model", key), f"unknown key; allowed: {allowed}") for key in model if key not in read]
    found += _unread_data(document)
    return list(dict.fromkeys(found))


def _unread_data(document: dict) -> list[Problem]:
    data, estimators = mapping(document.get("data")), mapping(document.get("estimators"))
    wanted = [mapping(part).get("reads") for part in estimators.values()]
    found = [(("data", name), "is an estimator too; one of them is too many") for name in data if name in estimators]
    return found + [(("data", name), "no estimator reads it") for name in data if name not in wanted]


def _reading_problems(home: tuple[str, str], part: dict, data: dict, kind: dict) -> list[Problem]:
    """What is wrong with the key `reads`, which a kind allows by a property `reads` and may require."""
    if "reads" not in part:
        allowed = ", ".join(data) or "a name of the section data"
        return [((*home, "reads"), f"missing; allowed: {allowed}")] if "reads" in kind.get("required", []) else []
    if "reads" not in kind["properties"]:
        return [((*home, "reads"), "unknown key; this estimator reads no data")]
    if not isinstance(part["reads"], str) or part["reads"] in data:
        return problems(part["reads"], kind["properties"]["reads"], (*home, "reads"))
    return [((*home, "reads"), f"{part['reads']!r}: not in the section data; allowed: {', '.join(data) or 'none'}")]


def _part_problems(home: tuple[str, str], part: dict, model: dict, kind: dict) -> list[Problem]:
    grid, chunk = mapping(part.get("grid")), mapping(part.get("chunk"))
    found = problems(mapping(part.get("solver")), kind["solver"], (*home, "solver"))

    values = {}
    for key, axis in grid.items():
        try:
            values[key] = axis_values(axis)
        except ValueError as error:
            found.append(((*home, "grid", key), str(error)))
        except (KeyError, TypeError):
            pass  # not the shape of an axis, which the frame has said
    grid_schema = kind["grid"]
    # The schema is about single values; an axis is asked only for its name.
    names = {key: {"description": item.get("description", key)} for key, item in grid_schema["properties"].items()}
    found += problems(grid, {**grid_schema, "properties": names}, (*home, "grid"))
    for key in values.keys() & grid_schema["properties"].keys():
        # One wrong value tells enough of a long axis.
        first = next((p for value in values[key] for p in problems(value, grid_schema["properties"][key])), None)
        if first:
            found.append(((*home, "grid", key), first[1]))

    both = sorted(grid.keys() & model.keys())
    found += [((*home, "grid", key), "is in model too; a key is either fixed or scanned") for key in both]
    mine = {key: value for key, value in model.items() if key in kind["model"]["properties"]}
    required = [key for key in kind["model"].get("required", []) if key not in grid]
    found += problems(mine, {**kind["model"], "required": required}, ("model",))

    cuttable = [*grid, "replicas"]
    found += [
        ((*home, "chunk", key), f"unknown key; allowed: {', '.join(cuttable)}") for key in chunk if key not in cuttable
    ]
    return found


def _unknown_parts(document: dict, overlay: dict, scale: str) -> list[Problem]:
    return [
        (("scales", scale, section, name), f"unknown key; allowed: {', '.join(known) or 'none'}")
        for section in SECTIONS
        for known in [mapping(document.get(section))]
        for name in mapping(overlay.get(section))
        if name not in known
    ]


def _other_axis(old: dict, new: dict) -> bool:
    """A list of values and a range exclude each other: the overlay's way of writing an axis wins."""
    return ("values" in old) != ("values" in new)


def at_home(keys: tuple[str, ...], document: dict, scale: str) -> tuple[str, ...]:
    """Where a problem of the document of a scale was written: below `scales` when the overlay touches its keys."""
    node = mapping(document.get("scales")).get(scale)
    for depth, key in enumerate(keys):
        if not isinstance(node, dict):
            break
        if key not in node:
            # An overlay that writes a neighbour of a missing key is the one that lost it.
            return ("scales", scale, *keys) if depth == len(keys) - 1 and depth > 0 else keys
        node = node[key]
    return ("scales", scale, *keys)
