"""Lines of code on numbers as instructions of LLVM, without the passes of numba, which need a millisecond for each line."""

import ast
import math
import operator

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from attention_limits.numerics.tracing import elementary
from attention_limits.numerics.tracing.straight_line import number

_DOUBLE, _INTEGER, _TRUTH = ir.DoubleType(), ir.IntType(64), ir.IntType(1)
_KINDS = {types.float64: _DOUBLE, types.int64: _INTEGER, types.boolean: _TRUTH}
_CONSTANTS = {"INFINITE": math.inf, "NAN": math.nan}
# A product and a sum may become one instruction.
_FLAGS = ("contract",)
_FLOATS = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
_INTEGERS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.BitAnd: "and_", ast.BitOr: "or_"}
_COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


class _Writer:
    """Writes expressions of known variables, pairs of an instruction and its type in numba."""

    def __init__(self, context, builder):
        self.context, self.builder, self.known = context, builder, {}

    def expression(self, node):
        return getattr(self, type(node).__name__)(node)

    def Name(self, node):
        if node.id in _CONSTANTS:
            return ir.Constant(_DOUBLE, _CONSTANTS[node.id]), types.float64
        return self.known[node.id]

    def Constant(self, node):
        kind = {bool: types.boolean, int: types.int64, float: types.float64}[type(node.value)]
        return ir.Constant(_KINDS[kind], node.value), kind

    def BinOp(self, node):
        left, right, kind = self._alike(node.left, node.right)
        if kind is types.float64:
            return getattr(self.builder, _FLOATS[type(node.op)])(left, right, flags=_FLAGS), kind
        return getattr(self.builder, _INTEGERS[type(node.op)])(left, right), kind

    def UnaryOp(self, node):
        value, kind = self.expression(node.operand)
        if isinstance(node.op, ast.Not):
            return self.builder.not_(self._as(value, kind, types.boolean)), types.boolean
        if kind is types.float64:
            constant = isinstance(value, ir.Constant)
            return (ir.Constant(_DOUBLE, -value.constant) if constant else self.builder.fneg(value)), kind
        return self.builder.neg(value), kind

    def Compare(self, node):
        left, right, kind = self._alike(node.left, node.comparators[0])
        sign = _COMPARISONS[type(node.ops[0])]
        if kind is not types.float64:
            return self.builder.icmp_signed(sign, left, right), types.boolean
        compare = self.builder.fcmp_unordered if sign == "!=" else self.builder.fcmp_ordered
        return compare(sign, left, right), types.boolean

    def IfExp(self, node):
        test = self._as(*self.expression(node.test), types.boolean)
        first, second, kind = self._alike(node.body, node.orelse)
        return self.builder.select(test, first, second), kind

    def Call(self, node):
        if isinstance(node.func, ast.Name) and node.func.id in ("float", "int"):
            kind = types.float64 if node.func.id == "float" else types.int64
            return self._as(*self.expression(node.args[0]), kind), kind
        of_math = isinstance(node.func, ast.Attribute)
        name = node.func.attr if of_math else node.func.id
        function = operator.abs if name == "abs" else getattr(math if of_math else elementary, name)
        given = [self.expression(argument) for argument in node.args]
        kind = self.context.typing_context.resolve_value_type(abs if function is operator.abs else function)
        signature = kind.get_call_type(self.context.typing_context, [types.float64] * len(given), {})
        found = self.context.get_function(kind, signature)
        values = [self._as(*argument, types.float64) for argument in given]
        for library in getattr(found, "libs", ()):
            self.context.active_code_library.add_linking_library(library)
        return found(self.builder, values), signature.return_type

    def _alike(self, *nodes):
        """Two values of one kind, and this kind."""
        (left, first), (right, second) = (self.expression(node) for node in nodes)
        order = types.boolean, types.int64, types.float64
        kind = max(first, second, key=order.index)
        return self._as(left, first, kind), self._as(right, second, kind), kind

    def _as(self, value, kind, wanted):
        """A value of a kind as one of another kind."""
        if kind is wanted:
            return value
        if wanted is types.float64:
            convert = self.builder.uitofp if kind is types.boolean else self.builder.sitofp
            return convert(value, _DOUBLE)
        if wanted is types.int64:
            convert = self.builder.zext if kind is types.boolean else self.builder.fptosi
            return convert(value, _INTEGER)
        zero = ir.Constant(_KINDS[kind], 0)
        return (
            self.builder.fcmp_unordered("!=", value, zero)
            if kind is types.float64
            else self.builder.icmp_signed("!=", value, zero)
        )


_SOURCE = """from attention_limits.numerics.tracing.lowered import program

body = program(\'\'\'
{reads}
\'\'\', \'\'\'
{lines}
\'\'\', \'\'\'
{writes}
\'\'\')
"""


def program_source(reads: list[tuple], lines: list[str], writes: list[tuple]) -> str:
    """Beginning of a module, in which `body` is the intrinsic of `program`.

    Parameters
    ----------
    reads : list of (name, which, row)
    lines : list of str
    writes : list of (entry, row)
        An entry is a name or a constant.
    """
    return _SOURCE.format(
        reads="\n".join(f"{name} {which} {row}" for name, which, row in reads),
        lines="\n".join(lines),
        writes="\n".join(f"{number(entry)} {row}" for entry, row in writes),
    )


def program(reads: str, lines: str, writes: str):
    """The intrinsic (first, second, target, s) -> None that runs lines of code at the place s of flat arrays.

    Parameters
    ----------
    reads : str
        Lines `name which row`: the variable `name` is the entry row + s of the array `which`, 0 for `first` and 1 for `second`.
        Of a tuple it is the entry `row`.
    writes : str
        Lines `expression row`: the value, as a float, becomes the entry row + s of the target.
    lines : str
        Lines `name = expression` of `straight_line`.
    """
    parsed = ast.parse(lines).body
    sources = [(name, int(array), int(row)) for name, array, row in map(str.split, reads.strip().splitlines())]
    targets = [
        (ast.parse(text, mode="eval").body, int(row))
        for text, row in (line.rsplit(maxsplit=1) for line in writes.strip().splitlines())
    ]

    @intrinsic
    def body(typingctx, first, second, target, place):
        def generate(context, builder, signature, arguments):
            *arrays, place = arguments

            def at(array, row):
                data = context.make_array(signature.args[array])(context, builder, arrays[array]).data
                return builder.gep(data, [builder.add(place, place.type(row))])

            def read(array, row):
                if isinstance(signature.args[array], types.BaseTuple):
                    return builder.extract_value(arrays[array], row)
                return builder.load(at(array, row))

            writer = _Writer(context, builder)
            for name, array, row in sources:
                writer.known[name] = read(array, row), types.float64
            for line in parsed:
                writer.known[line.targets[0].id] = writer.expression(line.value)
            for node, row in targets:
                builder.store(writer._as(*writer.expression(node), types.float64), at(2, row))
            return context.get_dummy_value()

        return types.void(first, second, target, types.intp), generate

    return body
