"""Why a function stays in NumPy, in the words of its author: what the function does, and what to write in its place."""

import re

# Patterns of the messages of JAX, NumPy and `loop_or_reason`; {} stands for the group of the pattern.
_WORDS = (
    (
        "Attempted boolean conversion of traced array",
        "it branches on numbers of an array (if, while, and, or); write np.where",
    ),
    ("Array boolean indices must be concrete", "it chooses entries by a mask; write np.where"),
    (
        r"__array__\(\) was called on traced array",
        "it makes a plain array of its arguments (np.asarray, np.vectorize, an entry of another array set, an index that depends "
        "on the fields); write functions of NumPy of the arguments themselves, np.stack, np.take_along_axis",
    ),
    (
        r"(?:float|int|complex)\(\) argument must be|must be real number, not Traced",
        "it makes a Python number of an entry (float, int, a function of math); write functions of NumPy of whole arrays",
    ),
    (r"<ufunc '(\w+)'>", "it calls the function {} of another library; only functions of NumPy are compiled"),
    (r"the operation (\w+) of JAX on \w+ has no code here", "it needs the operation {}, which has no compiled code"),
)


def in_words(reason: str) -> str:
    """A `reason` of `loop_or_reason`, or the message of JAX in it, for the author of the function; others do not change."""
    for pattern, words in _WORDS:
        found = re.search(pattern, reason)
        if found:
            return words.format(*found.groups())
    return reason
