"""Function transforms from Python: vmap against a loop, derivatives against formulas; nests of tuples and dicts; what is refused."""
import braze as T
from braze import func as F

a, b = T.tensor([0.5, -1.5, 2.0]), T.tensor([2.0, 0.5, -1.0])
m = T.tensor([[1., -2., 3.], [0.5, 4., -1.]])


def near(x, y):
    if isinstance(x, (tuple, list)):
        return len(x) == len(y) and all(map(near, x, y))
    if isinstance(x, dict):
        return x.keys() == y.keys() and all(near(x[k], y[k]) for k in x)
    return x.shape == y.shape and x.dtype == y.dtype and bool(T.allclose(x, y, rtol=1e-4, atol=1e-5))


def stacked(parts):
    first = parts[0]
    if isinstance(first, (tuple, list)):
        return [stacked([p[k] for p in parts]) for k in range(len(first))]
    if isinstance(first, dict):
        return {k: stacked([p[k] for p in parts]) for k in first}
    return T.stack(parts)


def raises(kind, text, f, *args, **kwargs):
    try:
        f(*args, **kwargs)
    except kind as error:
        assert type(error) is kind and text in str(error), repr(error)
        return
    raise AssertionError(f"no {kind.__name__}")


def test_vmap_is_a_loop():
    row_functions = [
        lambda x: x * 2 + 1, lambda x: x.sum(), lambda x: (x, x.sum()), lambda x: {"y": x.exp(), "n": x.argmax()}, lambda x: x.softmax(0),
        lambda x: x.std(), lambda x: x[1:] - x[:-1], lambda x: x[[0, 0, 2]], lambda x: T.where(x > 0, x, -x).cumsum(0),
        lambda x: tuple(x.sort(descending=True)), lambda x: x.topk(2)[0], lambda x: T.einsum("i,j->ij", x, x), lambda x: m @ x,
        lambda x: x @ m.t(), lambda x: T.outer(x, a), lambda x: T.cat([x, a]), lambda x: T.stack([a, x]), lambda x: x.flip(0).roll(1),
        lambda x: x.clone().mul_(2).add_(1), lambda x: x.unfold(0, 2, 1), lambda x: T.nn.functional.pad(x, (1, 2)), lambda x: x.half().float(),
        lambda x: T.nn.functional.layer_norm(x, (3,)), lambda x: x.reshape(3, 1).expand(3, 2), lambda x: x.diag(), lambda x: x.norm(),
        lambda x: T.linalg.solve(T.eye(3) * 2 + T.outer(x, x), a), lambda x: x.logsumexp(0), lambda x: x.prod(), lambda x: a * 1,
        lambda x: T.nn.functional.conv1d(x[None, None], a[None, None, :2])[0, 0],
    ]
    for number, f in enumerate(row_functions):
        assert near(T.vmap(f)(m), stacked([f(row) for row in m])), number
        assert near(T.vmap(T.vmap(f))(m[None] + T.zeros(2, 1, 1)), stacked([stacked([f(row) for row in m])] * 2)), number


def test_vmap_over_positions():
    i = T.tensor([2, 0])
    assert T.vmap(lambda x, k: x[k])(m, i).tolist() == [3.0, 0.5]
    assert T.vmap(lambda k: m[k])(T.tensor([1, 0, 1])).tolist() == m[[1, 0, 1]].tolist()
    assert T.vmap(lambda k: m[:, k])(i).tolist() == m[:, i].t().tolist()
    assert near(T.vmap(lambda x, k: x.gather(0, k))(m, T.tensor([[2, 0], [1, 1]])), m.gather(1, T.tensor([[2, 0], [1, 1]])))

    def written(x, k):
        z = T.zeros(4)
        z[k] = x.sum()
        return z
    assert T.vmap(written)(m, i).tolist() == [[0, 0, 2.0, 0], [3.5, 0, 0, 0]]
    raises(IndexError, "out of bounds", lambda: T.vmap(lambda x, k: x[k])(m, T.tensor([0, 3])).tolist())


def test_dims_and_nests():
    assert near(T.vmap(lambda x, y: x + y, in_dims=(0, None))(m, a), m + a)
    assert near(T.vmap(T.dot, in_dims=1)(m, m), (m * m).sum(0))
    assert near(T.vmap(lambda p, y: p[0] * p[1] + y, in_dims=((0, None), None))((m, a), b), m * a + b)
    assert near(T.vmap(lambda d: d["x"] * 2)({"x": m}), m * 2)
    assert near(T.vmap(lambda x: (x, x.sum()), out_dims=(1, 0))(m), (m.t(), m.sum(1)))
    assert near(T.vmap(lambda x, y: x + y.sum())(m, y=m), m + m.sum())
    assert near(T.vmap(lambda x, k: x * k, in_dims=(0, None))(m, 3), m * 3)
    assert T.vmap(lambda x: x.sum())(T.zeros(0, 3)).shape == (0,)


def test_derivatives_of_nests():
    gradient = F.grad(lambda p: (p["w"] ** 2).sum() * p["b"].sum())({"w": a, "b": b})
    assert near(gradient, {"w": 2 * a * b.sum(), "b": (a ** 2).sum().expand(3)})
    assert near(F.grad(lambda x: ((x ** 2).sum(), {"x": x * 2}), has_aux=True)(a), (2 * a, {"x": a * 2}))
    assert near(F.grad_and_value(lambda x, k=1: (x ** k).sum())(a, k=3), (3 * a ** 2, (a ** 3).sum()))
    assert near(F.grad(lambda x, y: (x * y).sum(), argnums=-1)(a, b), a)
    value, pull = F.vjp(lambda x, y: (x.sin(), x * y), a, b)
    assert near(value, (a.sin(), a * b)) and near(pull((b, a)), (b * a.cos() + a * b, a * a))
    assert near(F.jvp(lambda x, y: (x * y, x.sum()), (a, b), (b, a)), ((a * b, a.sum()), (b * b + a * a, b.sum())))
    assert near(F.jacrev(lambda x: {"q": x ** 2, "s": x.sum()})(a), {"q": T.diag(2 * a), "s": T.ones(3)})
    assert near(F.jacfwd(lambda x, y: x * y, argnums=(0, 1))(a, b), (T.diag(b), T.diag(a)))
    assert near(F.hessian(lambda x, y: (x ** 2 * y).sum(), argnums=(0, 1))(a, b),
                ((T.diag(2 * b), T.diag(2 * a)), (T.diag(2 * a), T.zeros(3, 3))))
    assert near(T.vmap(F.hessian(lambda x: (x ** 3).sum()))(m), T.stack([T.diag(6 * row) for row in m]))
    assert near(F.grad(lambda w: T.vmap(lambda x: (x * w).sum())(m).sum())(a), m.sum(0))


def test_values_can_be_looked_at_inside_of_derivatives():
    assert near(F.grad(lambda x: x.sum() * 2 if x.sum().item() > 0 else x.prod())(a), T.full((3,), 2.))


def test_what_is_refused():
    raises(RuntimeError, "scalar", F.grad(lambda x: x), a)
    raises(RuntimeError, "floating point", F.grad(lambda x: x.sum()), T.tensor([1, 2]))
    raises(RuntimeError, "argnum=1", F.grad(lambda x: x.sum(), argnums=1), a)
    raises(RuntimeError, "(output, aux)", F.grad(lambda x: x.sum(), has_aux=True), a)
    raises(RuntimeError, "tuples", F.jvp, lambda x: x, [a], [b])
    raises(ValueError, "same size in the mapped dimension", T.vmap(lambda x, y: x + y), m, a)
    raises(ValueError, "in_dim=0", T.vmap(lambda x, k: x * k), m, 3)
    raises(ValueError, "in_dim=3", T.vmap(lambda x: x, in_dims=3), m)
    raises(ValueError, "only return Tensors", T.vmap(lambda x: 3), m)
    raises(RuntimeError, "vmap: It looks like you're calling .item()", T.vmap(lambda x: x * x.sum().item()), m)
    raises(RuntimeError, "randomness", T.vmap(lambda x: x + T.rand(3)), m)
    assert T.vmap(lambda x: T.rand(3) + 0 * x, randomness="same")(m).std(0).sum() == 0


def drawn(f, randomness, *args):
    T.manual_seed(3)
    return T.vmap(f, randomness=randomness)(*args)


def printed(x, values):
    return T.allclose(x, T.tensor(values), rtol=0, atol=1e-4)


def test_draws_of_each_element():
    """Values recorded from PyTorch 2.15: one draw for the batch, so the stream goes on as after a draw of that size."""
    x = T.zeros(4)
    T.manual_seed(3)
    every = T.rand(4, 3)
    assert T.equal(drawn(lambda v: v + T.rand(3), "different", x), every)
    assert printed(T.rand(2), [0.1498, 0.4015])
    assert printed(drawn(lambda v: v + T.randn(5), "different", x)[3], [-0.1468, 0.4851, 0.2052, 0.3384, 1.3528])
    assert drawn(lambda v: v + T.randint(0, 10, (2,)), "different", x).tolist() == [[6, 8], [7, 7], [0, 0], [0, 5]]
    assert drawn(lambda v: v + T.randperm(3), "different", x).tolist() == [[1, 0, 2], [1, 2, 0], [1, 0, 2], [0, 2, 1]]
    assert drawn(T.bernoulli, "different", T.full((4, 3), 0.5)).tolist() == [[1, 1, 1], [1, 1, 1], [0, 0, 0], [0, 1, 0]]
    assert drawn(T.nn.functional.dropout, "different", T.ones(4, 3)).tolist() == [[2, 2, 0], [2, 0, 0], [2, 2, 2], [0, 2, 0]]
    assert printed(drawn(lambda m: T.normal(m, 1.0), "different", T.zeros(4, 2))[0], [0.8033, 0.1748])
    every = (T.manual_seed(3), T.rand(2, 3, 2))[1]
    assert T.equal(drawn(lambda v: T.vmap(lambda w: w + T.rand(2), randomness="different")(v), "different", T.zeros(2, 3)), every)
    same_inside = drawn(lambda v: T.vmap(lambda w: w + T.rand(2), randomness="same")(v), "different", T.zeros(2, 3))
    assert printed(same_inside[:, 2], [[0.0043, 0.1056], [0.2858, 0.0270]])
    slope = F.grad(lambda s: drawn(lambda v: (v * T.rand(3)).sum(), "different", s).sum())(T.ones(4))
    assert printed(slope, [0.3957, 0.5587, 2.1100, 2.1384])
    T.manual_seed(3)
    jacobian = F.jacfwd(lambda s: s * T.rand(3), randomness="different")(T.ones(3))
    assert printed(jacobian.diagonal(), [0.0043, 0.4716, 0.5944])
    raises(RuntimeError, "randomness", T.vmap(lambda v: T.vmap(lambda w: w + T.rand(2))(v), randomness="different"), T.zeros(2, 3))
