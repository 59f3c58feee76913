"""Functions whose tensors come one by one, and the Tensor's attributes about what it is a view of."""
from . import _braze
from ._braze import Size, Tensor

_functions = _braze._functions[""]


def _one_by_one(name, result="Tensor"):
    function = _functions[name]

    def spread(*tensors, **options):
        if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
            return function(tensors[0], **options)
        if len(tensors) == 1 and name.startswith("atleast"):
            return function(tensors[0])
        return function(tensors, **options)

    spread.__name__ = spread.__qualname__ = name
    spread.__module__ = "braze"
    spread.__annotations__ = {"tensors": "Any", "options": "Any", "return": result}
    spread.__doc__ = function.__doc__
    return spread


block_diag, cartesian_prod = _one_by_one("block_diag"), _one_by_one("cartesian_prod")
meshgrid, broadcast_tensors = _one_by_one("meshgrid", "tuple[Tensor, ...]"), _one_by_one("broadcast_tensors", "tuple[Tensor, ...]")
eval = _one_by_one("eval", "None")  # pylint: disable=redefined-builtin
atleast_1d, atleast_2d, atleast_3d = (_one_by_one(name, "Any") for name in ("atleast_1d", "atleast_2d", "atleast_3d"))


def broadcast_shapes(*shapes) -> "Size":
    """The common sizes of several. RuntimeError where they do not broadcast.
    https://pytorch.org/docs/stable/generated/torch.broadcast_shapes.html"""
    return _functions["_broadcast_shapes"]([(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes])


Tensor._base = property(Tensor._base_or_none, doc="The tensor that this is a view of, or None.")
Tensor.data = property(_braze.tensor_data, Tensor.set_data, doc="The same memory without gradient; setting it takes another tensor's.")
