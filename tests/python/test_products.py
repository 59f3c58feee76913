"""Matrix products op by op, in one graph and compiled: the same bits, whatever the sizes, layouts and neighbours.

Sizes of 1 are frequent: a graph may show that a size is 1 or hide it, and the order in which a product adds its terms must not follow that.
"""

import os
import random

import braze

FLOATS = [braze.float32, braze.float64, braze.float16, braze.bfloat16]
DTYPES = [braze.float32, braze.float32, *FLOATS, braze.int32, braze.int64, braze.uint8]
PROGRAMS = 200


def bits(t):
    return t.detach().contiguous().flatten().view(braze.uint8).tolist() if t.numel() else []


def same(a, b):
    """The same bits, but for what a NaN carries."""
    return bits(a) == bits(b) or braze.equal(a.double().nan_to_num(nan=9.0), b.double().nan_to_num(nan=9.0))


class Program:
    """A product of two random operands, with random ops before and after it."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.generator = braze.Generator().manual_seed(seed)
        pick = self.random.choice
        self.dtype = pick(DTYPES)
        inner = pick([0, 1, 2, 3, 16, 33, 64, 100, 257, 2049, 5000])
        sizes = [pick([1, 1, 1, 2, 3, 17]), pick([1, 1, 2, 5, 16, 17, 64, 70, 130])]
        self.random.shuffle(sizes)
        batch = pick([(), (), (1,), (3,), (2, 1)])
        self.left = self.operand(*batch, sizes[0], inner)
        self.right = self.operand(*pick([batch, ()]), inner, sizes[1])
        self.before = pick(["nothing", "arithmetic", "transposed copies", "one row", "a transposed copy"])
        self.after = pick(["nothing", "arithmetic", "a transposed copy", "a sum", "a gradient"])

    def values(self, *shape):
        if self.dtype in FLOATS:
            return braze.randn(*shape, generator=self.generator).to(self.dtype)
        return braze.randint(0, 5, shape, generator=self.generator).to(self.dtype)

    def operand(self, *shape):
        *batch, rows, columns = shape
        layouts = {
            "dense": lambda: self.values(*shape),
            "transposed": lambda: self.values(*batch, columns, rows).mT,
            "columns of a wider one": lambda: self.values(*batch, rows, 2 * columns + 1)[..., 1 : 1 + columns],
            "every other row": lambda: self.values(*batch, 2 * rows, columns)[..., ::2, :],
            "one row expanded": lambda: self.values(*batch, 1, columns).expand(*shape),
        }
        made = layouts[self.random.choice(list(layouts))]()
        braze.eval((made,))
        return made

    def __call__(self, x, w):
        match self.before:
            case "arithmetic":
                x, w = x + x, w * 2
            case "transposed copies":
                x, w = (x + x).mT.contiguous().mT, w.mT.contiguous().mT
            case "one row":
                x = x[..., 0:1, :]
            case "a transposed copy":
                w = (w + w).mT.clone().mT
        gradient = self.after == "a gradient" and self.dtype in FLOATS
        if gradient:
            x, w = x.detach().clone().requires_grad_(), w.detach().clone().requires_grad_()
        y = x @ w
        match self.after:
            case "arithmetic":
                return (y + 1) * y
            case "a transposed copy":
                return y.mT.contiguous() + 1
            case "a sum":
                return y.sum(-1)
        if not gradient:
            return y
        return braze.cat([g.flatten() for g in braze.autograd.grad((y * y).sum(), (x, w))])


def test_products_have_the_same_bits_op_by_op_in_a_graph_and_compiled():
    first = int(os.environ.get("BRAZE_SEED") or random.SystemRandom().randrange(1 << 31))
    for seed in range(first, first + PROGRAMS):
        program = Program(seed)
        with braze.eager():
            expected = program(program.left, program.right)
        told = f"BRAZE_SEED={seed}: {program.dtype}, {program.before}, product of {program.left.stride()} by {program.right.stride()}, {program.after}"
        assert same(program(program.left, program.right), expected), told
        assert same(braze.compile(program)(program.left, program.right), expected), told


class ReshapedProgram:
    """Elementwise ops of a product and of what it looks like in other shapes, some of them read again; then the gradients."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.generator = braze.Generator().manual_seed(seed)
        pick = self.random.choice
        self.a, self.b, self.inner, self.c = (pick([1, 2, 3, 5, 8]) for _ in range(4))
        self.dtype = pick(FLOATS)
        self.steps = [(pick(["shape", "unary", "unary", "again", "again", "bias", "transposed", "cast"]), self.random.random(), self.random.random())
                      for _ in range(self.random.randrange(2, 9))]
        self.left, self.right, self.bias = (braze.randn(*shape, generator=self.generator).to(self.dtype) for shape in (
            (self.a, self.b, self.inner), (self.inner, self.c), (self.c,)))

    def __call__(self, x, w, bias):
        x, w, bias = (t.detach().clone().requires_grad_() for t in (x, w, bias))
        shapes = [(self.a, self.b, self.c), (self.a * self.b, self.c), (self.a, self.b * self.c), (self.a * self.b * self.c,), (self.c, self.a, self.b)]
        y = x @ w
        seen = [y]
        for kind, one, other in self.steps:
            match kind:
                case "shape":
                    y = y.reshape(shapes[int(one * len(shapes))])
                case "unary":
                    y = [braze.tanh, braze.sin, lambda t: t * 0.5, braze.nn.functional.gelu, braze.square][int(one * 5)](y)
                case "again":
                    earlier = seen[int(one * len(seen))].reshape(y.shape)
                    y = y * earlier if other < 0.5 else y + earlier
                case "bias":
                    y = y.reshape(shapes[1 if other < 0.5 else 0]) + bias
                case "transposed":
                    y = y.transpose(0, -1)
                case "cast":
                    y = y.float() if y.dtype != braze.float32 else y.to(self.dtype)
            seen.append(y)
        results = (y, *braze.autograd.grad(y.float().tanh().sum(), (x, w, bias), allow_unused=True))
        return braze.cat([r.detach().double().flatten() for r in results if r is not None])


def test_reshaped_products_have_the_same_bits_op_by_op_in_a_graph_and_compiled():
    first = int(os.environ.get("BRAZE_SEED") or random.SystemRandom().randrange(1 << 31))
    for seed in range(first, first + PROGRAMS):
        program = ReshapedProgram(seed)
        operands = program.left, program.right, program.bias
        with braze.eager():
            expected = program(*operands)
        told = f"BRAZE_SEED={seed}: {program.dtype}, {program.steps}"
        assert same(program(*operands), expected), told
        assert same(braze.compile(program)(*operands), expected), told
