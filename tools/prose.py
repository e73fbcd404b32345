"""Numbers in sentences of the pages that come from cubes or benchmarks: `prose.yaml` names each sentence and their sources.

`publish.py` writes the present numbers into the pages, so the test that compares the pages with the published results finds a
sentence whose number differs from that of its source. A number of a caption may have its error in brackets, which stays.
"""

import re
from pathlib import Path

import benchmark_tables
from attention_limits.pipeline.audit import number_text
from attention_limits.pipeline.base.attributes import numbers_of_picture
from attention_limits.pipeline.experiments.yaml_reader import read_yaml

SOURCE = Path(__file__).parent / "prose.yaml"
# A number with its sign, and the error in brackets that `number_text` writes.
NUMBER = r"[-−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
WITH_ERROR = rf"{NUMBER}(?:\(\d+\))?"


def sentences():
    """The entries of `prose.yaml` by page: `text` and `numbers`."""
    return read_yaml(SOURCE)


def filled(page, text, pictures, rows, benchmarks):
    """The `text` of a page with the present numbers.

    `pictures` is the folder of the figures, `rows` is the audit, and `benchmarks` is the text of docs/benchmarks.md. A sentence
    of a figure or of a row that nothing has computed yet stays. Raises ValueError unless each sentence stands once in the text.
    """
    for entry in sentences().get(page, []):
        parts = entry["text"].split("{}")
        found = [number(source, pictures, rows, benchmarks) for source in entry["numbers"]]
        if None in found:
            continue
        if len(parts) != len(found) + 1:
            raise ValueError(
                f"{SOURCE.name}: {page}: {entry['text']}: {len(found)} numbers for {len(parts) - 1} places"
            )
        pattern = _words(parts[0])
        for (_, form), part in zip(found, parts[1:], strict=True):
            pattern += f"({form})((?:\\(\\d+\\))?{_words(part)})" if form == NUMBER else f"({form})({_words(part)})"
        places = list(re.finditer(f"({pattern})", text))
        if len(places) != 1:
            raise ValueError(f"{SOURCE.name}: {page}: {entry['text']}: {len(places)} places; allowed: one")
        (place,) = places
        for index in range(len(found), 0, -1):
            start, end = place.span(2 * index)
            text = text[:start] + found[index - 1][0] + text[end:]
    return text


def _words(part):
    """A pattern for a part of a sentence, whose spaces may be ends of lines."""
    return r"\s+".join(re.escape(word) for word in re.split(r"\s+", part))


def number(source, pictures, rows, benchmarks):
    """The present number of a `source` as text, and the pattern of such a number; None where there is none yet."""
    if isinstance(source, str):
        figure, name, form = re.fullmatch(r"(\w+)\.(\w+):(.+)", source).groups()
        value = numbers_of_picture(pictures / f"{figure}.png").get(name)
        return None if value is None else (format(value, form), NUMBER)
    if "benchmark" in source:
        value = benchmark_tables.our_time(benchmarks, source["benchmark"], source["unit"])
        return None if value is None else (format(value, source["format"]), NUMBER)
    row = next((row for row in rows if row["quantity"] == source["audit"]), None)
    if row is None or row["ours"] is None:
        return None
    if "format" in source:
        return format(row["ours"], source["format"]), NUMBER
    return number_text(row["ours"], row["error"]), WITH_ERROR


def missing_benchmarks(benchmarks):
    """The rows that sentences name and docs/benchmarks.md lacks."""
    sources = [source for entries in sentences().values() for entry in entries for source in entry["numbers"]]
    named = [source for source in sources if isinstance(source, dict) and "benchmark" in source]
    return {source["benchmark"] for source in named if number(source, None, [], benchmarks) is None}
