"""Autograd beyond the shared kit: what is accumulated, what is refused, whole derivatives."""
from kit import table, raised


def setup(T):
    def leaf(*values):
        return T.tensor(values, dtype=T.float64).requires_grad_()

    def chain(f, x, times):
        """Derivatives of higher and higher order, and which of them can be differentiated again."""
        g, found = f(x).sum(), []
        for _ in range(times):
            g, = T.autograd.grad(g.sum(), x, create_graph=True)
            found.append((g.detach(), g.requires_grad))
        return found

    def kept():
        x = leaf(1., 2.)
        y = x * 2
        y.retain_grad()
        z = y * 3
        z.retain_grad()
        z.sum().backward(retain_graph=True)
        z.sum().backward()
        return x.grad, y.grad, z.grad

    # Views whose elements share places: each has a gradient of its own.
    views = {"expand": lambda x: x.reshape(4, 1)[:2].expand(2, 3), "twice": lambda x: x[:3].expand(2, 3).unsqueeze(0).expand(2, 2, 3),
             "broadcast": lambda x: T.broadcast_tensors(x[:3], T.zeros(2, 3))[0], "unfold": lambda x: x.unfold(0, 2, 1),
             "strided": lambda x: x.as_strided((2, 3), (1, 1)), "complex": lambda x: T.complex(x, x + 1).conj().expand(2, 4)}

    def loss(y):
        return (y * T.arange(1., 1. + y.numel()).reshape(y.shape)).abs().pow(2).sum()

    def of_view(name, read):
        x = leaf(1., 2., 3., 4.)
        y = views[name](x)
        return T.autograd.grad(loss(read(y)) + (x * x).sum(), (y, x))

    def hooked(name, read):
        x, seen = leaf(1., 2., 3., 4.), []
        y = views[name](x)
        y.retain_grad()
        y.register_hook(lambda g: g * 100).remove()
        y.register_hook(lambda g: seen.append(g))
        y.register_hook(lambda g: g * T.arange(g.numel()).reshape(g.shape))
        loss(read(y)).backward()
        return seen, y.grad, x.grad

    def twice(name):
        x = leaf(1., 2., 3., 4.)
        y = views[name](x)
        g, = T.autograd.grad((y ** 3).sum() + x.sum(), y, create_graph=True)
        return T.autograd.grad((g * g).sum(), (y, x))

    def rewritten(name):
        base = leaf(1., 2., 3., 4.) * 1
        y = views[name](base)
        base.mul_(3)
        y.retain_grad()
        return T.autograd.grad(loss(y), y)
    return {"views": views, "of_view": of_view, "hooked": hooked, "twice": twice, "rewritten": rewritten, "leaf": leaf, "chain": chain, "kept": kept, "A": T.autograd.functional, "x": leaf(.5, -1., 2.), "y": leaf(1., 3.)}


table(setup, """
powers: [chain(lambda x: x ** n, x, k) for n, k in ((1, 1), (2, 3), (3, 3), (4, 4))]
powers_of_roots: chain(lambda x: (x * x + 1) ** 0.5, x, 3), chain(lambda x: (x * x + 1) ** -1, x, 3), chain(lambda x: x * x, x, 2)
retained_gradients_add_up: kept()
out_has_no_derivative: raised(lambda: T.mul(x, x, out=T.empty(3, dtype=T.float64))), raised(lambda: T.max(x.reshape(3, 1), 0, out=(T.empty(1, dtype=T.float64), T.empty(1, dtype=T.int64))))
out_that_requires_grad: raised(lambda: T.add(T.ones(3), 1, out=T.ones(3).requires_grad_()))
out_without_grad_mode: T.no_grad().__enter__() or T.add(x, 1, out=T.empty(3, dtype=T.float64)), T.set_grad_enabled(True) and 1
memory_of_a_leaf: raised(lambda: leaf(1.).set_(T.ones(2, dtype=T.float64))), raised(lambda: leaf(1.).resize_(5)), raised(lambda: (leaf(1.) * 2).resize_(5))
data_of_a_leaf: raised(lambda: setattr(leaf(1.), 'data', t([1])))
integers: raised(lambda: t([1]).requires_grad_()), raised(lambda: T.tensor([1], requires_grad=True)), raised(lambda: T.arange(3, requires_grad=True)), raised(lambda: setattr(t([1]), 'requires_grad', True)), raised(lambda: nn.Parameter(t([1])))
functional_types: raised(lambda: A.jacobian(lambda x: x, 3)), raised(lambda: A.vjp(lambda x: 3, y)), raised(lambda: A.hvp(lambda x: x.sum(), (y, 3)))
functional_vectors: raised(lambda: A.jvp(lambda x: x, y, (y, y))), raised(lambda: A.vjp(lambda x: x, y, x)), raised(lambda: A.vhp(lambda x: x, y)), raised(lambda: A.hvp(lambda x: x.sum(), y))
functional_strict: raised(lambda: A.jacobian(lambda x, y: (x * y.sum(), y.exp()), (x, y), strict=True)), raised(lambda: A.jvp(lambda x, y: x * 2, (x, y), (x, y), strict=True)), raised(lambda: A.vjp(lambda x: T.ones(2), x, T.ones(2), strict=True))
functional_strict_hessian: raised(lambda: A.hvp(lambda x: x.sum(), x, x, strict=True)), A.hvp(lambda x: (x ** 3).sum(), x, x, strict=True)
functional_strategies: raised(lambda: A.jacobian(lambda x: x, x, strategy='x')), raised(lambda: A.jacobian(lambda x: x, x, strict=True, vectorize=True))
shared_places_itself: [of_view(k, lambda y: y) for k in views], [hooked(k, lambda y: y) for k in views]
shared_places_of_transposed: [of_view(k, lambda y: y.transpose(0, -1)) for k in views], [hooked(k, lambda y: y.transpose(0, -1)) for k in views]
shared_places_of_part: [of_view(k, lambda y: y[1:]) for k in views], [hooked(k, lambda y: y[1:]) for k in views]
shared_places_of_row: [of_view(k, lambda y: y[1]) for k in views], [hooked(k, lambda y: y[1]) for k in views]
shared_places_of_reshaped: [of_view(k, lambda y: y.transpose(0, -1).reshape(-1)) for k in views], [hooked(k, lambda y: y.transpose(0, -1).reshape(-1)) for k in views]
shared_places_of_picked: [of_view(k, lambda y: y[T.tensor([0, 0])]) for k in views], [hooked(k, lambda y: y[T.tensor([0, 0])]) for k in views]
shared_places_of_gathered: [of_view(k, lambda y: y.gather(0, T.zeros(y.shape, dtype=T.int64))) for k in views], [hooked(k, lambda y: y.gather(0, T.zeros(y.shape, dtype=T.int64))) for k in views]
shared_places_of_product: [of_view(k, lambda y: y.mT @ y) for k in views], [hooked(k, lambda y: y.mT @ y) for k in views]
shared_places_of_sums: [of_view(k, lambda y: y.sum(-1) + y.cumsum(-1).mean(-1)) for k in views], [hooked(k, lambda y: y.sum(-1) + y.cumsum(-1).mean(-1)) for k in views]
shared_places_twice: [twice(k) for k in views if k != "complex"]
shared_places_rewritten: [rewritten(k) for k in ("expand", "twice", "broadcast")]
""")
