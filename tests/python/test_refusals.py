"""What PyTorch 2.15 refuses, in its words, and what it gives beside that: overlapping memory, hooks, functions, workers. Recorded by hand from
the same lines."""
import pickle
import warnings

import braze as T
from support import error

F = T.nn.functional
OVERLAP = ("RuntimeError", "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
                           "location. Please clone() the tensor before performing the operation.")


def i(*numbers):
    return T.tensor(numbers, dtype=T.int64)


def test_out_must_not_overlap_what_is_read():
    for call in (lambda y: T.add(y[:-1], 1, out=y[1:]), lambda y: T.exp(y[:-1], out=y[1:]), lambda y: T.cumsum(y[:-1], 0, out=y[1:]),
                 lambda y: T.sort(y[:-1], out=(y[1:], T.empty(3, dtype=T.int64))), lambda y: T.cat((y[:2],), out=y[1:3]),
                 lambda y: T.where(y[:-1] > 0, y[:-1], y[:-1], out=y[1:]), lambda y: T.clamp(y[:-1], 0, 1, out=y[1:]),
                 lambda y: T.index_select(y, 0, i(0, 1), out=y[1:3]), lambda y: T.gather(y, 0, i(0, 1), out=y[1:3]),
                 lambda y: T.take(y, i(0, 1), out=y[1:3])):
        assert error(call, T.arange(4.)) == OVERLAP
    y = T.arange(4.)
    assert T.add(y, 1, out=y).tolist() == [1, 2, 3, 4]                       # the very same elements
    assert T.add(y[:2], 1, out=y[2:]).tolist() == [2, 3]                     # apart
    assert T.mm(y.view(2, 2)[:1], y.view(2, 2), out=y.view(2, 2)[1:]).shape == (1, 2)  # PyTorch does not ask here


def test_picked_places_must_not_overlap_what_is_read():
    for call in (lambda y: y.index_add_(0, i(0, 1), y[2:]), lambda y: y.scatter_(0, i(0, 1), y[2:]),
                 lambda y: y.scatter_add_(0, i(0, 1), y[2:]), lambda y: y.scatter_reduce_(0, i(0, 1), y[2:], "sum"),
                 lambda y: y.index_copy_(0, i(0, 1), y[2:]), lambda y: y.index_put_((i(0, 1),), y[2:]),
                 lambda y: y.__setitem__(i(0, 1), y[2:]), lambda y: y.put_(i(0, 1), y[2:]),
                 lambda y: y.index_reduce_(0, i(0, 1), y[2:], "prod")):
        assert error(call, T.arange(4.)) == OVERLAP
    n = i(0, 1)
    assert error(lambda: n.index_put_((n,), n)) == OVERLAP and error(lambda: n.scatter_(0, n, n)) == OVERLAP
    assert error(lambda: n.index_add_(0, n[:1], i(5))) == OVERLAP
    y = T.arange(4.)
    assert y[:2].index_add_(0, i(0, 1), y[2:]).tolist() == [2, 4]
    assert T.arange(4.).index_fill_(0, i(0, 1), T.tensor(2.)).tolist() == [2, 2, 2, 3]


def through_hook(hook, leaf):
    x = T.ones(2, 3, requires_grad=True)
    y = x * 2
    (x if leaf else y).register_hook(hook)
    y.sum().backward()


def test_a_hook_keeps_type_and_size():
    for leaf in (False, True):
        assert error(through_hook, lambda g: g.double(), leaf) == (
            "RuntimeError", "hook '<lambda>' has changed the type of value (was torch.FloatTensor got torch.DoubleTensor)")
        assert error(through_hook, lambda g: T.ones(3), leaf) == ("RuntimeError", "hook '<lambda>' has changed the size of value")
        assert error(through_hook, lambda g: 3, leaf) == ("TypeError", "expected Variable, but hook returned 'int'")


class Product(T.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        return a * b

    @staticmethod
    def backward(ctx, gradient):
        return gradient, "text"


def test_functions():
    a, b = T.ones(2, requires_grad=True), T.ones(2, requires_grad=True)
    kind, text = error(Product.apply(a, b).sum().backward)
    assert kind == "RuntimeError" and text == "expected Variable or None (got str), which function ProductBackward returned at index 1"
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        Product()
    assert [w.category for w in told] == [DeprecationWarning] and "should not be instantiated" in str(told[0].message)


def test_a_pickle_of_what_was_computed_is_a_leaf():
    x = T.ones(2, requires_grad=True)
    y = pickle.loads(pickle.dumps(x * 2))
    assert y.tolist() == [2, 2] and y.requires_grad and y.is_leaf and y.grad_fn is None


def overwritten(write):
    """The gradient of what was there before."""
    y = T.ones(1, 3, requires_grad=True)
    q = y.clone()
    z = T.zeros(3, requires_grad=True)
    write(q, z)
    q.sum().backward()
    return y.grad, z.grad, type(q.grad_fn).__name__


def test_what_is_wholly_overwritten_has_a_gradient_of_zero():
    for write, name in ((lambda q, z: q.__setitem__(0, z), "CopySlices"), (lambda q, z: q.copy_(z), "CopyBackwards"),
                        (lambda q, z: q.view(3).copy_(z), "CopySlices"), (lambda q, z: q.__setitem__(slice(None), z), None),
                        (lambda q, z: q.__setitem__(Ellipsis, z), None)):
        before, written, grad_fn = overwritten(write)
        assert before is not None and before.tolist() == [[0, 0, 0]] and written.tolist() == [1, 1, 1]
        assert name is None or grad_fn == name, grad_fn
    y = T.ones(3, requires_grad=True)
    q = y * 2
    with T.no_grad():
        q.copy_(T.zeros(3, requires_grad=True))
    q.sum().backward()
    assert y.grad.tolist() == [2, 2, 2]  # what no derivative sees


class Broken(T.utils.data.Dataset):
    def __init__(self, error):
        self.error = error

    def __len__(self):
        return 4

    def __getitem__(self, n):
        raise self.error


class Two(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)


def test_a_workers_exception_says_where_it_was_caught():
    for what, kind, name in ((KeyError("key"), KeyError, "KeyError"), (ValueError("bad"), ValueError, "ValueError"),
                             (Two(1, 2), RuntimeError, "Two")):
        try:
            list(T.utils.data.DataLoader(Broken(what), batch_size=2, num_workers=2))
            raise AssertionError("nothing was raised")
        except kind as e:
            lines = str(e).splitlines()
            assert lines[0] == f"Caught {name} in DataLoader worker process 0." and lines[1].startswith("Original Traceback"), lines
            assert type(e) is kind and e.__cause__ is what


def test_a_table_larger_than_memory_is_refused_at_once():
    for call in (lambda: F.interpolate(T.ones(1, 1, 4), scale_factor=1e12), lambda: F.interpolate(T.ones(1, 1, 4), scale_factor=1e12, mode="linear"),
                 lambda: F.interpolate(T.ones(1, 1, 4), scale_factor=1e12, mode="area"), lambda: F.adaptive_max_pool1d(T.ones(1, 1, 4), 10**13)):
        kind, text = error(call)
        assert kind == "RuntimeError" and text.startswith("can't allocate memory: you tried to allocate"), text


def test_vmap_says_what_it_cannot_do():
    for f in (lambda x: x.item(), lambda x: x if x > 0 else -x):
        kind, text = error(T.func.vmap(f), T.ones(3))
        assert kind == "RuntimeError" and text.startswith("vmap: It looks like you're calling .item() on a Tensor"), text


def test_meshgrid_shows_what_it_got():
    kind, text = error(T.meshgrid, T.ones(1, 2))
    assert (kind, text) == ("RuntimeError", "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: tensor([[1., 1.]])")


def test_what_a_matrix_does_not_allow_is_a_lin_alg_error():
    L, nan = T.linalg, float("nan")
    assert issubclass(L.LinAlgError, RuntimeError)
    for call, words in ((lambda: L.inv(T.zeros(3, 3)).tolist(), "linalg.inv: The diagonal element 1 is zero"),
                        (lambda: L.solve(T.zeros(3, 3), T.ones(3)).tolist(), "torch.linalg.solve: The solver failed because the input matrix is"),
                        (lambda: L.cholesky(-T.eye(3)).tolist(), "linalg.cholesky: The factorization could not be completed"),
                        (lambda: L.eigvalsh(T.full((3, 3), nan)).tolist(), "linalg.eigh: The algorithm failed to converge"),
                        (lambda: L.svdvals(T.full((3, 3), nan)).tolist(), "linalg.svd: The algorithm failed to converge"),
                        (lambda: T.inverse(T.zeros(2, 3, 3)).tolist(), "linalg.inv: (Batch element 0): The diagonal element 1 is zero")):
        try:
            call()
        except L.LinAlgError as why:
            assert str(why).startswith(words), str(why)
        else:
            raise AssertionError(words)
    assert error(lambda: L.eigvals(T.full((3, 3), nan)).tolist())[1].startswith("torch.linalg.eig: input tensor should not contain infs or NaNs.")


def expanded_write(write):
    """The values after a write to an expanded tensor, and whom PyTorch warns of."""
    x = T.arange(3.).reshape(3, 1).expand(3, 2)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        write(x)
        assert x[:, 0].tolist() == x[:, 1].tolist() and x._base.flatten().tolist() == x[:, 0].tolist()
    for warning in told:
        assert "on expanded tensors is deprecated. Please clone() the tensor before performing this operation." in str(warning.message)
    return x[:, 0].tolist(), [str(warning.message).split()[2] for warning in told]


def test_some_writes_to_expanded_tensors_only_warn():
    mask = T.tensor([[True, False], [False, False], [True, True]])
    t = T.tensor
    for write, values, names in (
            (lambda x: x.masked_fill_(mask, 5.), [5, 1, 5], ["masked_fill_"]),
            (lambda x: x.masked_fill_(mask, t(5.)), [5, 1, 5], ["masked_fill_"]),
            (lambda x: x.index_fill_(0, i(0, -1), 7.), [7, 1, 7], ["index_fill_"]),
            (lambda x: x.index_fill_(1, i(1), t(7.)), [7, 7, 7], ["index_fill_"]),
            (lambda x: x.index_put_((i(0, 2),), t(3.)), [3, 1, 3], ["index_put_"]),
            (lambda x: x.index_put_((i(0, 2),), t(3.), accumulate=True), [6, 1, 8], ["index_put_"]),
            (lambda x: x.__setitem__(i(0, 2), 4.), [4, 1, 4], ["index_fill_"]),
            (lambda x: x.__setitem__((i(0, 2), i(0, 1)), 4.), [4, 1, 4], ["index_put_"]),
            (lambda x: x.__setitem__((slice(0, 2), i(0, 1)), t(4.)), [4, 4, 2], ["index_put_"]),
            (lambda x: x.__setitem__(mask, 4.), [4, 1, 4], ["masked_fill_"]),
            (lambda x: x.__setitem__(mask, t([4.])), [4, 1, 4], ["index_put_", "masked_fill_"]),
            (lambda x: x.__setitem__(mask, t([1., 2., 3.])), [1, 1, 3], ["index_put_"]),
            (lambda x: x.__setitem__((0, t([True, False])), 4.), [4, 1, 2], ["masked_fill_"]),
            (lambda x: x.__setitem__((i(0, 2), 0), 4.), [4, 1, 4], []),
            (lambda x: x.__setitem__(True, 4.), [4, 4, 4], []),
            (lambda x: x.tril_(), [0, 1, 2], []), (lambda x: x.triu_(), [0, 0, 0], []), (lambda x: x.fill_(4.), [4, 4, 4], [])):
        assert expanded_write(write) == (values, names)
    for write in (lambda x: x.masked_scatter_(mask, T.ones(3, 2)), lambda x: x.scatter_(0, mask.long(), 1.), lambda x: x.add_(1),
                  lambda x: x.index_add_(0, i(0), T.ones(1, 2)), lambda x: x.index_copy_(0, i(0), T.ones(1, 2)), lambda x: x.put_(i(0), t([1.]))):
        assert "more than one element of the written-to tensor refers to a single memory location" in error(expanded_write, write)[1]


def test_a_mask_beside_a_number():
    x = T.arange(6.).reshape(3, 2)
    x[0, T.tensor([True, False])] = 4.
    assert x.tolist() == [[4, 1], [2, 3], [4, 5]]
