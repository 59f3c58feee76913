"""Products of any number of tensors: what takes *operands, spelt as the tables' rows."""
from . import _braze

_einsum, _chain_matmul = _braze._functions[""]["einsum"], _braze._functions[""]["chain_matmul"]


def einsum(*args) -> "Tensor":
    """einsum(equation, *operands): sums of products over named dims. Any number of operands, '...', repeated letters, spaces; without
    '->' the letters that occur once, in order. Also einsum(a, [0, 1], b, [1, 2], [0, 2]), with dims named by numbers.
    https://pytorch.org/docs/stable/generated/torch.einsum.html"""
    if len(args) < 2:
        raise ValueError("einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts "
                         "list")
    if isinstance(args[0], str):
        operands = args[1:]
    else:
        equation = ",".join(_letters(labels) for labels in args[1::2])
        operands = args[:-1:2] if len(args) % 2 else args[::2]
        args = (f"{equation}->{_letters(args[-1])}" if len(args) % 2 else equation,)
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    return _einsum(args[0], list(operands))


def _letters(labels):
    if not isinstance(labels, (list, tuple)):
        raise TypeError(f"einsum(): a subscripts list must be a list or tuple of ints and Ellipsis, not {type(labels).__name__}")
    return "".join("..." if label is Ellipsis else _letter(label) for label in labels)


def _letter(label):
    if 0 <= label < 26:
        return chr(ord("A") + label)
    if 26 <= label < 52:
        return chr(ord("a") + label - 26)
    raise ValueError(f"einsum(): subscript in subscript list is not within the valid range [0, 52): {label}")


def chain_matmul(*matrices, out=None) -> "Tensor":
    """The product of matrices in the order of least work; linalg.multi_dot is its successor."""
    return _chain_matmul(list(matrices), out=out)
