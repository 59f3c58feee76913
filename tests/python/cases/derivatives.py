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
    return {"leaf": leaf, "chain": chain, "kept": kept, "A": T.autograd.functional, "x": leaf(.5, -1., 2.), "y": leaf(1., 3.)}


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
""")
