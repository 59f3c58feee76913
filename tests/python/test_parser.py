"""Arguments meet signatures as in PyTorch: names, overloads, defaults, and TypeErrors in PyTorch's words."""
import numpy as np

import braze as T
from support import error


def test_unknown_keyword():
    assert error(T.exp, T.ones(2), foo=1) == ("TypeError", "exp() got an unexpected keyword argument 'foo'")


def test_missing_argument():
    kind, text = error(T.exp)
    assert kind == "TypeError" and 'missing 1 required positional argument' in text and '"input"' in text, text


def test_wrong_type_names_position_and_type():
    assert error(T.exp, "x") == ("TypeError", "exp(): argument 'input' (position 1) must be Tensor, not str")
    assert error(T.exp, np.ones(2)) == ("TypeError", "exp(): argument 'input' (position 1) must be Tensor, not numpy.ndarray")


def test_several_overloads_are_listed():
    kind, text = error(T.ones(2, 2).size, "x", "y")
    assert kind == "TypeError" and "received an invalid combination of arguments - got (str, str)" in text, text


def test_given_twice():
    assert error(T.exp, T.ones(1), input=T.ones(1)) == ("TypeError", "exp() got multiple values for argument 'input'")


def test_too_many():
    kind, text = error(T.exp, T.ones(1), T.ones(1))
    assert kind == "TypeError" and "takes 1 positional argument but 2 were given" in text, text


def test_spread_sizes():
    assert T.zeros(2, 3).shape == T.zeros((2, 3)).shape == T.zeros([2, 3]).shape == T.zeros(size=(2, 3)).shape
    assert T.arange(6).view(2, -1).shape == (2, 3)
    assert T.zeros(np.int64(2), T.tensor(3)).shape == (2, 3)


def test_numpy_names():
    x = T.arange(6.).reshape(2, 3)
    assert x.sum(axis=1, keepdims=True).tolist() == x.sum(dim=1, keepdim=True).tolist()
    assert T.exp(x=T.zeros(1)).tolist() == [1.0]


def test_numbers_of_numpy_and_tensors():
    x = T.arange(6.).reshape(2, 3)
    assert x.sum(np.int32(1)).tolist() == x.sum(T.tensor(1)).tolist() == [3.0, 12.0]
    assert error(x.sum, 1.5)[0] == "TypeError"


def test_bool_is_no_int():
    assert error(T.ones(2, 2).size, True)[0] == "TypeError"


def test_int_that_does_not_fit():
    kind, text = error(T.ones(2).select, 0, 2 ** 70)
    assert kind == "ValueError" and "Overflow" in text, (kind, text)


def test_out_is_written_and_returned():
    o = T.empty(2)
    assert T.exp(T.zeros(2), out=o) is o and o.tolist() == [1.0, 1.0]
    kind, text = error(T.exp, T.zeros(2), out=T.empty(2, dtype=T.int64))
    assert (kind, text) == ("RuntimeError", "result type Float can't be cast to the desired output type Long")


def test_out_is_resized():
    o = T.empty(0)
    T.exp(T.zeros(3), out=o)
    assert o.shape == (3,)


def test_documentation_and_names():
    assert T.exp.__name__ == "exp" and "exp(Tensor" in T.exp.__doc__
    assert T.Tensor.exp.__qualname__ == "Tensor.exp"
    import pickle
    assert pickle.loads(pickle.dumps(T.exp)) is T.exp


def test_absent_name_points_to_the_list():
    kind, text = error(lambda: T.no_such_function)
    assert kind == "AttributeError" and "docs/coverage.md" in text
    kind, text = error(lambda: T.ones(1).no_such_method)
    assert kind == "AttributeError" and "no attribute 'no_such_method'" in text
    assert not hasattr(T.ones(1), "no_such_method")


def test_named_tuple():
    values, indices = result = T.tensor([[1., 5.], [7., 2.]]).max(1)
    assert type(result).__name__ == "max" and result.values is values and result.indices.tolist() == [1, 0]
    assert repr(result) == "braze.return_types.max(\nvalues=tensor([5., 7.]),\nindices=tensor([1, 0]))"


def test_rows_have_no_twin():
    seen = set()
    functions = [f for space in T._braze._functions.values() for f in space.values()]
    for f in functions + [f for f in vars(T.Tensor).values() if hasattr(type(f), "__rows__")]:
        texts = [r[0].partition("->")[0].strip() for r in f.__rows__]
        assert len(texts) == len(set(texts)), (f, texts)
