"""Compiled functions that contain their own copies of all helpers: the only place that changes another library.

numba copies each compiled helper into every function that calls it, and optimises it again, which can change the last bits. The
copies are weak symbols of the same name. The linker takes the copy that it saw first, and this depends on the functions that a
process has compiled or read from the cache. Then the bytes of a number depend on the jobs before it.

numba has no option against this. `inline="always"` and `forceinline` do not reach the helpers that numba itself adds, such as
those of arrays. Therefore `switch_on` makes the copies private before numba optimises them. It compares numba with what it
needs, and changes nothing when numba works in another way; a test fails then.
"""

import functools
import inspect
import warnings

from llvmlite.binding import Linkage
from numba.core.codegen import CPUCodeLibrary

# Methods of numba, with the names and texts that their code must contain. numba links the helpers as weak symbols into a module,
# which the changed method then optimises.
NEEDED = {
    "_get_module_for_linking": {"_final_module", "functions", "linkage", "linkonce_odr"},
    "finalize": {"_linking_libraries", "link_in", "_get_module_for_linking", "_optimize_final_module"},
    "_optimize_final_module": {"_final_module", "run"},
}


def differences(library: type = CPUCodeLibrary) -> list[str]:
    """One line for each part of `NEEDED` that a class of numba does not have."""
    found = []
    for name, needed in NEEDED.items():
        code = getattr(inspect.unwrap(getattr(library, name, None)), "__code__", None)
        missing = needed - {*code.co_names, *code.co_consts} if code else {"the method"}
        found += [f"{library.__name__}.{name}: {part} is missing" for part in sorted(missing)]
    return found


def switch_on(library: type = CPUCodeLibrary) -> bool:
    """Make helpers private in all functions that a class of numba compiles from now on, and return whether it does so.

    Warns, and changes nothing, if `differences` finds any.
    """
    if found := differences(library):
        warnings.warn(
            f"compiled functions share helpers, so the last bits of numbers can differ between runs: {'; '.join(found)}",
            RuntimeWarning,
            stacklevel=2,
        )
        return False
    optimise = library._optimize_final_module

    @functools.wraps(optimise)
    def with_own_helpers(self):
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.linkonce_odr:
                function.linkage = Linkage.internal
        optimise(self)

    library._optimize_final_module = with_own_helpers
    return True
