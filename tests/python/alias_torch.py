"""The mirror's ops of two operands, and its module: what alias_mirror.py's Tensor is called `torch` with."""
import numpy as np

from alias_layout import broadcast
from alias_mirror import Tensor, dense_like, fresh, result_type, tensors, value_of
from alias_numbers import DTYPES, FLOATS, Unsupported, category, converted, known, of_number, promoted, require

ARITHMETIC = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide, "maximum": np.maximum,
              "minimum": np.minimum, "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor}
COMPARISONS = {"gt": np.greater, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal}


def combined(op, a, b):
    """(the result's dtype, its values) of a binary op."""
    name = result_type(a, b)
    if op == "sub":
        require("bool" not in [x.name if isinstance(x, Tensor) else of_number(x) for x in (a, b)], "subtraction of bools")
    if op == "div" and name not in FLOATS:
        name = "float32"
    require(not (op.startswith("bitwise") and name in FLOATS), "bitwise op on floats")
    return name, converted(ARITHMETIC[op](value_of(a, name), value_of(b, name)), name)


def binary(op):
    def apply(a, b, out=None):
        size = broadcast(*[x.size_ for x in tensors(a, b)])
        if op in COMPARISONS:
            name = result_type(a, b)
            return fresh(COMPARISONS[op](value_of(a, name), value_of(b, name)), "bool", dense_like(size, [a, b]))
        name, values = combined(op, a, b)
        if out is None:
            return fresh(values, name, dense_like(size, [a, b]))
        require(cast_allowed(name, out.name), "the result cannot be cast")
        known(out.size_ == size)
        return out.overwrite(values, *tensors(a, b))
    return apply


def cast_allowed(source, to):
    return category(source) <= category(to)


def in_place(op):
    def apply(self, other):
        require(broadcast(*[x.size_ for x in tensors(self, other)]) == self.size_, "the result does not fit")
        name, values = combined(op, self, other)
        require(cast_allowed(name, self.name), "the result cannot be cast")
        return self.overwrite(values, other)
    return apply


for _op in ARITHMETIC:
    setattr(Tensor, _op, binary(_op))
    setattr(Tensor, _op + "_", in_place(_op))
for _op in COMPARISONS:
    setattr(Tensor, _op, binary(_op))
for _sign, _op in {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "and": "bitwise_and", "or": "bitwise_or",
                   "xor": "bitwise_xor"}.items():
    setattr(Tensor, f"__{_sign}__", binary(_op))
    setattr(Tensor, f"__i{_sign}__", in_place(_op))
Tensor.__gt__, Tensor.__le__ = binary("gt"), binary("le")


class Torch:
    """The functions of the module."""
    Tensor = Tensor
    add, sub, mul, maximum, minimum = (staticmethod(binary(op)) for op in ("add", "sub", "mul", "maximum", "minimum"))

    @staticmethod
    def tensor(data, dtype="int64"):
        return fresh(np.array(data, np.float64 if dtype in FLOATS else np.int64), dtype)

    @staticmethod
    def zeros(size, dtype):
        return fresh(np.zeros(size), dtype)

    @staticmethod
    def from_numpy(array):
        memory = array
        while memory.base is not None:
            memory = memory.base
        known(memory.dtype == np.uint8)
        start = (array.__array_interface__["data"][0] - memory.__array_interface__["data"][0]) // array.itemsize
        return Tensor(memory, array.dtype.name, start, array.shape, [s // array.itemsize for s in array.strides])

    @staticmethod
    def where(mask, a, b):
        require(mask.name == "bool", "where takes a bool condition")
        name = result_type(a, b)
        size = broadcast(*[x.size_ for x in tensors(mask, a, b)])
        return fresh(np.where(mask.values(), value_of(a, name), value_of(b, name)), name, dense_like(size, [mask, a, b]))

    @staticmethod
    def cat(parts, dim):
        name = parts[0].name
        for x in parts[1:]:
            name = promoted(name, x.name)
        try:
            return fresh(np.concatenate([x.values() for x in parts], dim), name)
        except ValueError as why:
            raise Unsupported(str(why)) from None


for _name in DTYPES:
    setattr(Torch, _name, _name)
