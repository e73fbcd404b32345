# A target that no rule has: say what it needs, or which one is meant. Snakemake itself says only that there is no rule.
import re

# Snakemake does not give its targets to a Snakefile. On its command line they follow --; elsewhere the prefix of a family shows them.
_WORDS = sys.argv[1:]
# Another workflow that uses this one as a module has further targets.
_OURS = Path(workflow.main_snakefile).resolve() == (ROOT / "Snakefile").resolve()
_AFTER = _WORDS[_WORDS.index("--") + 1 :] if "--" in _WORDS else []
_PREFIXES = tuple(f"{load_family(family).prefix}_" for family in PROJECT.experiments)
_RULES = {rule.name for rule in workflow.rules}
_WRONG = [
    PROJECT.wrong_target(word, sorted(_RULES))
    for word in _WORDS
    if _OURS
    and re.fullmatch("[A-Za-z0-9_-]+", word)
    and (word in _AFTER or word.startswith(_PREFIXES))
    and not (word.startswith("-") or word in _RULES or Path(word).exists())
]
# A rule of many files is no target, but the argument of some options.
_TAKE_RULES = re.compile("-[ROUP]|--(forcerun|omit-from|until|prioritize|batch|allowed-rules|set-.*)(=.*)?")
_MANY = {rule.name for rule in workflow.rules if rule.has_wildcards()}
_ASKED = _AFTER or ([] if any(map(_TAKE_RULES.fullmatch, _WORDS)) else _WORDS)
_WRONG += [
    f"{word}: makes one of many files; ask for a figure, a family, or a file such as a cube (`attention-limits list`)"
    for word in _ASKED
    if _OURS and word in _MANY
]
if _WRONG:
    sys.exit("\n".join(_WRONG))
