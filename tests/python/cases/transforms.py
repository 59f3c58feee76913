"""Function transforms beyond the shared kit: autograd Functions under them, draws, pooling at infinities."""
from kit import table, raised


def setup(T):
    fn = T.func

    class Saves(T.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

    class Square(Saves):
        @staticmethod
        def forward(x, w):
            return x * x * w

        @staticmethod
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            return g * 2 * x * w, g * x * x

        @staticmethod
        def jvp(ctx, tx, tw):
            x, w = ctx.saved_tensors
            return tx * 2 * x * w + tw * x * x

    class Odd(Saves):
        """Its derivatives are not the ops': they tell which were asked."""
        @staticmethod
        def forward(x):
            return T.sin(x)

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0] ** 2 * 10

        @staticmethod
        def jvp(ctx, t):
            return t * ctx.saved_tensors[0] * 100

    class Exp(T.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return T.exp(x)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(output)
            ctx.save_for_forward(output)

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

        @staticmethod
        def jvp(ctx, t):
            return t * ctx.saved_tensors[0]

    class Ruled(T.autograd.Function):
        """Its rule for batches gives another result: it tells whether it was asked."""
        @staticmethod
        def forward(x, k):
            return x.sum() * k

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.shape, ctx.k = inputs[0].shape, inputs[1]

        @staticmethod
        def backward(ctx, g):
            return g.expand(ctx.shape) * ctx.k, None

        @staticmethod
        def jvp(ctx, t, _):
            return t.sum() * ctx.k

        @staticmethod
        def vmap(info, in_dims, x, k):
            return x.movedim(in_dims[0], 0).flatten(1).sum(1) * k * 7 + info.batch_size, 0

    class Plain(T.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return g * 2

    class Old(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    class Two(T.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x * 2, x > 0, x.sum()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.mark_non_differentiable(output[1])

        @staticmethod
        def backward(ctx, a, _, c):
            return a * 2 + c

        @staticmethod
        def jvp(ctx, t):
            return t * 2, None, t.sum()

    class Mul(T.autograd.Function):
        @staticmethod
        def forward(a, b):
            return a * b

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return Mul.apply(g, b), Mul.apply(g, a)

        @staticmethod
        def vmap(info, in_dims, a, b):
            return Mul.apply(a, b), 0

    class Looks(T.autograd.Function):
        """Needs values: by its rule alone can it be mapped."""
        @staticmethod
        def forward(x):
            return T.tensor([v * v for v in x.flatten().tolist()]).reshape(x.shape)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

        @staticmethod
        def vmap(info, in_dims, x):
            return Looks.apply(x), in_dims[0]

    class Unfilled(T.autograd.Function):
        @staticmethod
        def forward(x, y):
            return x * y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.set_materialize_grads(False)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def jvp(ctx, a, b):
            return a * ctx.saved_tensors[1] * (10 if b is None else 1)

    def with_(base=Plain, **functions):
        return type("Other", (base,), {k: staticmethod(v) if callable(v) else v for k, v in functions.items()})

    def nests(f, x, X, v, V):
        """Derivatives and batches of f, one in the other."""
        def total(x):
            return f(x).sum()
        yield fn.jvp(f, (x,), (v,))
        yield fn.jvp(fn.grad(total), (x,), (v,))
        yield fn.grad(lambda x: fn.jvp(f, (x,), (v,))[1].sum())(x)
        yield fn.grad(lambda x: fn.grad(total)(x).sum())(x)
        yield fn.vmap(f)(X), fn.vmap(fn.vmap(f))(X)
        yield fn.vmap(fn.grad(total))(X)
        yield fn.grad(lambda X: fn.vmap(f)(X).sum())(X)
        yield fn.jvp(fn.vmap(f), (X,), (V,))
        yield fn.vmap(lambda x: fn.jvp(f, (x,), (v,)))(X)
        yield fn.vmap(fn.grad(lambda x: fn.grad(total)(x).sum()))(X)
        yield fn.grad(lambda X: fn.vmap(fn.grad(total))(X).sum())(X)
        yield fn.vmap(fn.grad(lambda x: fn.vmap(f)(x).sum()))(X)
        yield fn.jvp(fn.vmap(fn.grad(total)), (X,), (V,))
        yield fn.hessian(total)(x), fn.jacrev(f)(x), fn.jacfwd(f)(x)
        for mapped in (fn.vmap(f), fn.vmap(fn.grad(total)), lambda X: fn.vmap(lambda x: f(x) * X[0])(X)):
            leaf = X.clone().requires_grad_()
            mapped(leaf).sum().backward()
            yield leaf.grad

    def drawn(shape, samples, replacement, randomness, mapped=True):
        T.manual_seed(5)
        W = T.rand(5, *shape) + 0.1
        return fn.vmap(lambda w: T.multinomial(w if mapped else W[0], samples, replacement) + w[..., :1] * 0, randomness=randomness)(W)
    inf = float("inf")
    holes = T.tensor([[[[-inf, -inf, -inf, -inf], [-inf, -inf, -inf, 3.], [-inf, 1., 2., -inf], [-inf, -inf, -inf, -inf]]]])
    names = {k: v for k, v in locals().items() if isinstance(v, type)}
    return names | {"fn": fn, "with_": with_, "drawn": drawn, "holes": holes, "ramp": T.arange(16.).reshape(1, 1, 4, 4) + 1, "F": T.nn.functional,
                    "nests": lambda f: list(nests(f, T.tensor([.5, 1., 2.]), T.arange(6.).reshape(2, 3) / 3, T.tensor([1., 10., 100.]),
                                                  T.tensor([[1., 10., 100.], [2., 11., 101.]]))),
                    "x": T.tensor([.5, 1., 2.]), "w": T.tensor([3., -1., .25]), "X": T.arange(6.).reshape(2, 3) / 3, "v": T.tensor([1., 10., 100.])}


table(setup, """
nests_of_ops: nests(lambda x: T.sin(x) * x)
nests_of_a_function: nests(Odd.apply)
nests_of_a_function_by_its_output: nests(Exp.apply)
nests_of_two_arguments: nests(lambda x: Square.apply(x, w))
jvp_of_two: fn.jvp(Square.apply, (x, w), (v, v)), fn.jvp(lambda x: Two.apply(x)[::2], (x,), (v,))
jvp_not_differentiable: fn.jvp(lambda x: Two.apply(x)[0] * Two.apply(x)[1], (x,), (v,))
jvp_none: raised(lambda: fn.jvp(Plain.apply, (x,), (v,)))
jvp_count: raised(lambda: fn.jvp(with_(jvp=lambda ctx, t: (t, t)).apply, (x,), (v,)))
jvp_type: raised(lambda: fn.jvp(with_(jvp=lambda ctx, t: 3).apply, (x,), (v,)))
jvp_sizes: raised(lambda: fn.jvp(with_(jvp=lambda ctx, t: t.sum()).apply, (x,), (v,)))
jvp_not_materialized: fn.jvp(lambda x: Unfilled.apply(x, w), (x,), (v,)), fn.jvp(Unfilled.apply, (x, w), (v, v))
jvp_sees_what_was_saved_for_it: fn.jvp(with_(setup_context=lambda ctx, i, o: ctx.save_for_backward(o), jvp=lambda ctx, t: t * len(ctx.saved_tensors)).apply, (x,), (v,))
vmap_two: fn.vmap(Two.apply)(X), fn.vmap(fn.grad(lambda x: Two.apply(x)[2] + Two.apply(x)[0].sum()))(X)
vmap_shared: fn.vmap(Square.apply, (0, None))(X, w), fn.grad(lambda w: fn.vmap(Square.apply, (0, None))(X, w).sum())(w)
vmap_shared_jvp: fn.jvp(lambda w: fn.vmap(Square.apply, (0, None))(X, w), (w,), (v,))
vmap_rule: fn.vmap(lambda x: Ruled.apply(x, 2.))(X), fn.vmap(lambda x: Ruled.apply(x, 2.), 1)(X), fn.vmap(fn.vmap(lambda x: Ruled.apply(x, 2.)))(X[None])
vmap_rule_inside: fn.vmap(fn.grad(lambda x: Ruled.apply(x, 2.)))(X), fn.vmap(lambda x: fn.jvp(lambda x: Ruled.apply(x, 2.), (x,), (v,)))(X)
vmap_rule_outside: fn.grad(lambda X: fn.vmap(lambda x: Ruled.apply(x, 2.))(X).sum())(X), fn.jvp(fn.vmap(lambda x: Ruled.apply(x, 2.)), (X,), (X,))
vmap_rule_of_the_level: fn.vmap(lambda x: Ruled.apply(w, 2.) + x)(X), fn.vmap(lambda y: fn.vmap(lambda x: Ruled.apply(y, 2.) + x)(X))(X)
vmap_rule_in_backward: fn.vmap(fn.grad(lambda x: Mul.apply(x, x).sum()))(X), fn.vmap(fn.grad(lambda x: fn.grad(lambda x: Mul.apply(x, Mul.apply(x, x)).sum())(x).sum()))(X), fn.jacrev(lambda x: Mul.apply(x, x))(x)
vmap_rule_looks_at_values: fn.vmap(Looks.apply)(X), fn.vmap(fn.grad(lambda x: Looks.apply(x).sum()))(X), fn.grad(lambda X: fn.vmap(Looks.apply)(X).sum())(X)
vmap_without_rule: raised(lambda: fn.vmap(Plain.apply)(X))
vmap_without_rule_for_all: raised(lambda: fn.vmap(lambda x: Plain.apply(w) + x)(X))
vmap_two_rules: raised(lambda: fn.vmap(with_(Ruled, generate_vmap_rule=True).apply, (0, None))(X, 2.))
vmap_rule_returns_one: raised(lambda: fn.vmap(with_(vmap=lambda info, dims, x: x).apply)(X))
vmap_rule_returns_three: raised(lambda: fn.vmap(with_(vmap=lambda info, dims, x: (x, 0, 0)).apply)(X))
context_apart: raised(lambda: fn.grad(lambda x: Old.apply(x).sum())(x)), raised(lambda: fn.vmap(Old.apply)(X)), raised(lambda: fn.jvp(Old.apply, (x,), (v,)))
defaults_of_forward: with_(forward=lambda x, n=3: x * n, setup_context=lambda ctx, i, o: setattr(ctx, 'n', i[1]), backward=lambda ctx, g: (g * ctx.n, None)).apply(x)
named_results: [tuple(r) for r in (fn.vmap(lambda x: x.sort())(X), fn.vmap(lambda x: x.max(0))(X), fn.vmap(lambda x: T.aminmax(x))(X))]
named_results_have_derivatives: tuple(fn.jvp(lambda x: x.topk(2), (x,), (v,))[1]), tuple(fn.jacfwd(lambda x: x.cummax(0))(x)), fn.jacrev(lambda x: x.sort()[0])(x)
integers_have_none: raised(lambda: fn.jacrev(lambda x: x.argmax())(x)), raised(lambda: fn.vjp(lambda x: x.sort(), x))
one_hot: fn.vmap(lambda x: F.one_hot((x > 0).long(), 2))(X), fn.vmap(lambda x: F.one_hot(x, 3), 1)(t([[0, 2], [1, 1], [2, 0]]))
multinomial: [drawn(s, n, r, 'different', m) for s in ((4,), (2, 4)) for n in (1, 3) for r in (True, False) for m in (True, False)]
multinomial_same: [drawn(s, n, r, 'same', False) for s in ((4,), (2, 4)) for n in (1, 3) for r in (True, False)]
multinomial_same_refused: raised(lambda: drawn((4,), 2, True, 'same')), raised(lambda: fn.vmap(T.bernoulli, randomness='same')(X / 2)), T.manual_seed(0) and T.rand(2)
multinomial_error: raised(lambda: drawn((4,), 2, True, 'error')), raised(lambda: fn.vmap(T.rand_like)(X)), T.manual_seed(0) and T.rand(2)
multinomial_looks_at_all: raised(lambda: fn.vmap(lambda w: T.multinomial(w, 2), randomness='different')(t([[1., 2.], [-1., 2.]]))), raised(lambda: fn.vmap(lambda w: T.multinomial(w, 2), randomness='different')(t([[1., 2.], [0., 0.]])))
max_pool_of_infinities: [fn.jvp(lambda x: F.max_pool2d(x, *how), (holes,), (ramp,)) for how in ((2, 2, 1), (3, 2, 1), (3, 1, 1), (3, 2, 1, 2), (9, 2, 4))]
max_pool1d_of_infinities: [fn.jvp(lambda x: F.max_pool1d(x, *how), (holes[0],), (ramp[0],)) for how in ((2, 2, 1), (3, 2, 1), (3, 1, 1), (3, 2, 1, 2), (9, 2, 4))]
adaptive_to_nothing: [f(ramp, s) for f in (F.adaptive_max_pool2d, F.adaptive_avg_pool2d) for s in (0, (0, 2), (2, 0), (None, 0))]
adaptive_to_nothing_1d_3d: F.adaptive_avg_pool1d(ramp[0], 0), F.adaptive_max_pool1d(ramp[0], 0, return_indices=True), F.adaptive_avg_pool3d(ramp, (0, 1, 2)), F.adaptive_max_pool3d(ramp, (2, 0, 1), return_indices=True)
""")
