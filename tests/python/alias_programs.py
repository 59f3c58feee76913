"""Random programs over aliases of one storage, as lines of Python that PyTorch, Braze and alias_mirror.py run.

A program is a list of statements; each is written for the tensors that the earlier ones left, which the mirror knows. A statement that
raises leaves everything as it was, so that any part of a program is a program.
"""
import functools
import random

import numpy as np

from alias_layout import numel
from alias_mirror import Tensor
from alias_numbers import DTYPES, FLOATS, STORED, Refused, Unsupported

MOST_VARIABLES = 11
MOST_ELEMENTS = 400


class Writer:
    def __init__(self, seed, environment, strict):
        self.random = random.Random(seed)
        self.names = environment  # name -> mirror tensor, and helpers
        self.strict = strict      # no statement whose result PyTorch leaves undefined
        self.lines = []
        self.made = 0
        self.in_function = False
        self.viewed = []  # memory that was ever looked at as another dtype

    # ---- choices ----
    def chance(self, percent):
        return self.random.randrange(100) < percent

    def pick(self, *options):
        return self.random.choice(options)

    def weighted(self, table):
        return self.random.choices([f for f, _ in table], [w for _, w in table])[0]

    def variables(self, fits=lambda x: True):
        return [n for n, x in self.names.items() if isinstance(x, Tensor) and fits(x)]

    def variable(self, fits=lambda x: True):
        found = self.variables(fits)
        known_to_fit(found)
        # Later ones more often, so that views of views arise.
        return found[max(self.random.randrange(len(found)), self.random.randrange(len(found)))]

    def fresh_name(self):
        self.made += 1
        return f"t{self.made}"

    def number(self, dtype):
        if dtype == "bool":
            return self.pick("True", "False")
        if dtype in FLOATS and self.chance(60):
            return self.pick("0.5", "-1.5", "2.0", "0.25", "3.0", "-0.75")
        return str(self.pick(0, 1, 2, 3, 5)) if dtype == "uint8" else str(self.pick(-3, -1, 0, 1, 2, 3, 7))

    def indices(self, n, count, repeats=True):
        return [self.random.randrange(n) for _ in range(count)] if repeats else self.random.sample(range(n), min(count, n))

    # ---- creation ----
    def create(self):
        dtype = self.random.choice(DTYPES)
        size = self.pick([24], [30], [6, 5], [4, 6], [3, 8], [2, 3, 4], [3, 2, 5], [64], [8, 16], [1, 9], [0, 3], [5], [129])
        count = numel(size)
        step, modulus = self.pick(1, 3, 5), self.pick(7, 11, 23)
        data = f"[(i * {step}) % {modulus} - {0 if dtype == 'uint8' else self.pick(0, 3)} for i in range({count})]"
        if dtype in FLOATS and self.chance(50):
            data = f"[((i * {step}) % {modulus} - 4) / 4 for i in range({count})]"
        shape = ", ".join(map(str, size))
        if self.chance(12) and dtype not in ("bfloat16", "bool") and count:
            host = f"n{self.made}"
            name = self.fresh_name()
            return [f"{host} = host({data}, '{dtype}')", f"{name} = torch.from_numpy({host}).view({shape})"]
        return [f"{self.fresh_name()} = torch.tensor({data}, dtype=torch.{dtype}).view({shape})"]

    # ---- views ----
    def view(self):
        source = self.variable()
        return [f"{self.fresh_name()} = {source}{self.view_text(self.names[source])}"]

    def index_text(self, x):
        parts = []
        for n in x.size_[:self.random.randint(1, max(1, x.ndim))]:
            kind = self.random.randrange(10)
            if kind < 3 and n:
                parts.append(str(self.random.randrange(-n, n)))
            elif kind < 8:
                start, stop = sorted(self.random.randrange(n + 1) for _ in range(2))
                step = self.pick("", "", ":2", ":3")
                parts.append(f"{self.pick(start, start, '')}:{self.pick(stop, '', stop - n if stop < n else '')}{step}")
            else:
                parts.append(":")
        if self.chance(12):
            parts.insert(self.random.randint(0, len(parts)), "None")
        if self.chance(12):
            parts.insert(0 if self.chance(50) and len(parts) == x.ndim else len(parts), "...")
        return ", ".join(parts)

    def view_text(self, x):
        rank, size = x.ndim, x.size_
        d = self.random.randrange(rank) if rank else 0
        other = self.random.randrange(rank) if rank else 0
        options = [(lambda: f".unsqueeze({self.random.randint(-rank - 1, rank)})", 4), (lambda: ".detach()", 3),
                   (lambda: self.strided_text(x), 8), (lambda: f".reshape({self.other_size(numel(size))})", 8),
                   (lambda: f".view({self.other_size(numel(size))})", 6)]
        if rank:
            n = size[d]
            options += [(lambda: f"[{self.index_text(x)}]", 30), (lambda: f".squeeze({d})", 3),
                        (lambda: f".select({d}, {self.random.randrange(-n, n + (self.random.randrange(30) == 0)) if n else 0})", 5),
                        (lambda: f".narrow({d}, {n // 3}, {n - n // 2 - n // 3 + (n // 4)})", 5),
                        (lambda: f".unbind({d})[{self.random.randrange(n) if n else 0}]", 3),
                        (lambda: f".split({max(1, n // 2)}, {d})[{self.random.randrange(2) if n > 1 else 0}]", 4)]
            if n > 1:
                window = self.random.randint(1, n)
                options.append((lambda: f".unfold({d}, {window}, {self.pick(1, 2, window)})", 6))
            if x.name not in FLOATS + ["bool"]:
                wanted = self.pick("uint8", "int8", "int16", "int32", "int64")
                options.append((lambda: f".view(torch.{wanted})", 6))
        if rank > 1:
            options += [(lambda: f".transpose({d}, {other})", 8), (lambda: ".mT", 4), (lambda: f".movedim({d}, {other})", 4),
                        (lambda: f".permute({', '.join(map(str, self.random.sample(range(rank), rank)))})", 6)]
            if d != other:
                options.append((lambda: f".diagonal({self.random.randint(-1, 2)}, {d}, {other})", 8))
        if numel(size) < 60:
            lead = [self.pick(2, 3)] if self.chance(60) else []
            wider = [self.pick(n, 3) if n == 1 else n for n in size]
            if lead or wider:
                options.append((lambda: f".expand({', '.join(map(str, lead + wider))})", 5))
        return self.weighted(options)()

    def other_size(self, count):
        if count == 0:
            return self.pick("0", "0, 3", "2, 0")
        if self.chance(25):
            return "-1"
        size, rest = [], count
        while rest > 1 and len(size) < 3:
            n = self.random.choice([k for k in range(1, rest + 1) if rest % k == 0])
            size.append(n)
            rest //= n
        return ", ".join(map(str, size + ([rest] if rest > 1 or not size else [])))

    def strided_text(self, x, size=None):
        """Any layout within the storage; of these sizes, where they are given."""
        held = len(x.memory) // STORED[x.name].itemsize
        known_to_fit(held)
        if size is None:
            size = [self.random.randint(1, 4) for _ in range(self.random.randint(1, 3))]
        for _ in range(20):
            stride, step = [], self.pick(1, 1, 2)
            for n in reversed(size):
                stride.append(step)
                step *= n if self.chance(80) else self.pick(1, n + 1)
            order = self.random.sample(range(len(size)), len(size)) if self.chance(30) else range(len(size))
            stride = [list(reversed(stride))[i] for i in order]
            reach = sum((n - 1) * s for n, s in zip(size, stride))
            if reach < held:
                size_text = "".join(f"{n}, " for n in size)
                return f".as_strided(({size_text}), ({''.join(f'{s}, ' for s in stride)}), {self.random.randrange(held - reach)})"
        raise Unsupported("no layout fits")

    # ---- values ----
    def operand(self, size, dtype, numbers=True):
        """An expression that broadcasts to `size`: a number, an alias, or something computed of one, which is pending."""
        if numbers and self.chance(25):
            return self.number(dtype)
        same = self.variables(lambda x: x.size_ == tuple(size))
        if same and self.chance(70):
            text = self.random.choice(same)
        else:
            source = self.variable()
            smaller = [n if self.chance(85) else 1 for n in size]
            text = source + self.strided_text(self.names[source], smaller[self.pick(0, 0, 0, len(smaller) // 2):])
        return self.pick("{}", "{}", "{}.clone()", "({} + {})", "({} * 2)", "{}.contiguous()").format(text, text)

    def fitted_number(self, x):
        return self.number(x.name if x.name in FLOATS or self.chance(3) else "int64" if x.name != "bool" else "bool")

    def read_text(self):
        """A new tensor, computed of aliases."""
        a = self.variable(lambda x: numel(x.size_) <= MOST_ELEMENTS // 2)
        x = self.names[a]
        d = self.random.randrange(x.ndim) if x.ndim else 0
        exact = x.name not in FLOATS
        op = self.pick("+", "-", "*") if x.name != "bool" else self.pick("&", "|", "^", "*", "+")
        options = [(lambda: f"{a} {op} {self.operand(x.size_, x.name)}", 30), (lambda: f"{a}.clone()", 6),
                   (lambda: f"torch.{self.pick('maximum', 'minimum')}({a}, {self.operand(x.size_, x.name, numbers=False)})", 5),
                   (lambda: f"torch.where({a} > 0, {a}, {self.operand(x.size_, x.name)})", 6),
                   (lambda: f"{a} {self.pick('>', '<=')} {self.number('int64')}", 4), (lambda: f"{a}.reshape(-1)", 4),
                   (lambda: f"{a}.to(torch.{self.random.choice(FLOATS if not exact else DTYPES)})", 6),
                   (lambda: f"{a}.logical_not()", 2), (lambda: f"torch.cat([{a}, {a}], {d}).contiguous()", 2 if x.ndim else 0)]
        if x.name != "bool":
            options += [(lambda: f"-{a}", 4), (lambda: f"{a}.abs()", 3), (lambda: f"{a}.clamp(-2, 5)" if x.name != "uint8" else a, 3)]
        if not exact:
            options += [(lambda: f"{a} / {self.pick('2.0', '4', '3.0')}", 3),
                        (lambda: f"{a}.nan_to_num(0.0, 9.0, -9.0).clamp(-9, 9).to(torch.{self.random.choice(DTYPES[1:6])})"
                         .replace("-9", "0" if x.name == "uint8" else "-9"), 4)]
        if exact:
            options += [(lambda: f"{a}.sum({d}).contiguous()", 6), (lambda: f"{a}.cumsum({d}).contiguous()", 4)]
            if x.name != "bool":
                options.append((lambda: f"{a}.remainder({self.pick(3, 5, 7)})", 3))
        if x.ndim and x.size_[d]:
            n = x.size_[d]
            picks = f"torch.tensor({self.indices(n, self.random.randint(1, 5))})"
            colons = ":, " * d
            options += [(lambda: f"{a}.amax({d}).contiguous()", 4), (lambda: f"{a}[{colons}{picks}].contiguous()", 6),
                        (lambda: f"{a}.index_select({d}, {picks})", 4), (lambda: f"{a}[{a} > 1].contiguous()", 0 if self.in_function else 4)]
            longs = self.variables(lambda y: y.name == "int64" and y.ndim == 1 and 0 < y.size_[0] < 9)
            if longs:
                options.append((lambda: f"{a}[{colons}{self.random.choice(longs)}.remainder({n})].contiguous()", 6))
        return self.weighted(options)()

    def compute(self):
        return [f"{self.fresh_name()} = {self.read_text()}"]

    # ---- writes ----
    def write(self):
        a = self.variable()
        return self.weighted([(self.write_whole, 30), (self.write_part, 34), (self.write_pair, 14), (self.write_picked, 20),
                              (self.write_out, 5)])(a, self.names[a])

    def arithmetic(self, x):
        if x.name == "bool":
            return self.pick("&", "|", "^", "*", "+")
        return self.pick("+", "-", "*", *(["/"] if x.name in FLOATS else ["&", "^"]))

    def divisor_or(self, op, x, size):
        return self.pick("2.0", "4.0", "3.0") if op == "/" else self.operand(size, x.name)

    def write_whole(self, a, x):
        op = self.arithmetic(x)
        name = {"+": "add_", "-": "sub_", "*": "mul_", "/": "div_", "&": "bitwise_and_", "|": "bitwise_or_", "^": "bitwise_xor_"}[op]
        options = [(lambda: f"{a} {op}= {self.divisor_or(op, x, x.size_)}", 10),
                   (lambda: f"{a}.{name}({self.divisor_or(op, x, x.size_)})", 14),
                   (lambda: f"{a}.copy_({self.operand(x.size_, x.name, numbers=False)})", 12),
                   (lambda: f"{a}.fill_({self.fitted_number(x)})", 6), (lambda: f"{a}.zero_()", 3),
                   (lambda: f"{a}.masked_fill_({self.variable()} > 0, {self.fitted_number(x)})", 2),
                   (lambda: f"{a}.masked_fill_({a} > {self.number('int64')}, {self.fitted_number(x)})", 6)]
        if x.name != "bool":
            options += [(lambda: f"{a}.neg_()", 4), (lambda: f"{a}.abs_()", 3)]
            if x.name != "uint8":
                options.append((lambda: f"{a}.clamp_(-4, 6)", 5))
            if x.name not in FLOATS:
                options.append((lambda: f"{a}.remainder_({self.pick(5, 11)})", 5))
        return [self.weighted(options)()]

    def write_part(self, a, x):
        known_to_fit(x.ndim)
        index = self.index_text(x)
        target = eval(f"x[{index}]", {"x": x})
        op = self.arithmetic(x)
        return [self.weighted([
            (lambda: f"{a}[{index}] = {self.operand(target.size_, x.name)}", 12),
            (lambda: f"{a}[{index}] {op}= {self.divisor_or(op, x, target.size_)}", 12),
            (lambda: f"{a}[{index}] = {self.number(x.name)}", 4)])()]

    def write_pair(self, a, x):
        """Two stretches of one dim: neighbours, shifted, reversed roles."""
        dims = [d for d in range(x.ndim) if x.size_[d] > 1]
        known_to_fit(dims)
        d = self.random.choice(dims)
        n, step = x.size_[d], self.pick(1, 1, 2)
        length = self.random.randint(1, max(1, n // step - 1))
        starts = [self.random.randrange(n - (length - 1) * step) for _ in range(2)]
        colons = ":, " * d
        to, source = (f"{a}[{colons}{s}:{s + (length - 1) * step + 1}:{step}]" for s in starts)
        op = self.arithmetic(x).replace("/", "+")
        form = self.pick("{to} = {source}", "{to} = {source} * 1", "{to} {op}= {source}", "{to} = {source}.clone()",
                         "{to} {op}= {source}.clone()", "{to}, {source} = {source}.clone(), {to}.clone()")
        return [form.format(to=to, source=source, op=op)]

    def write_picked(self, a, x):
        known_to_fit(x.ndim)
        d = self.random.randrange(x.ndim)
        n = x.size_[d]
        known_to_fit(n)
        count = self.random.randint(1, 4)
        indices = f"torch.tensor({self.indices(n, count)})"
        colons = ":, " * d
        rows = list(x.size_[:d]) + [count] + list(x.size_[d + 1:])
        # Of its own: PyTorch does not say what reading memory that an index writes would give.
        source = self.variable(lambda y: len(y.memory) > 0)
        values = f"({source}{self.strided_text(self.names[source], rows)}.clone()).to(torch.{x.name})"
        if x.name not in FLOATS and self.names[source].name in FLOATS:
            values = f"torch.zeros({rows}, dtype=torch.{x.name})"
        options = [(lambda: f"{a}[{colons}{indices}] = {self.number(x.name)}", 6),
                   (lambda: f"{a}[{colons}{indices}] = {values}", 8),
                   (lambda: f"{a}[{colons}{indices}] {self.arithmetic(x).replace('/', '*')}= {self.number(x.name)}", 6),
                   (lambda: f"{a}[{a} > {self.number('int64')}] = {self.number(x.name)}", 8),
                   (lambda: f"{a}.index_add_({d}, {indices}, {values})", 8), (lambda: f"{a}.index_copy_({d}, {indices}, {values})", 5),
                   (lambda: f"{a}.index_fill_({d}, {indices}, {self.fitted_number(x)})", 4)]
        if not self.in_function:
            options.append((lambda: f"{a}[{a} > 0] = {a}[{a} > 0] * 1", 4))
        if x.ndim == 1:
            options.append((lambda: f"{a}.index_put_(({indices},), {values}, accumulate=True)", 5))
            table = indices
        else:
            size = [min(n, 2) if k != d else count for k, n in enumerate(x.size_)]
            known_to_fit(numel(size))
            table = f"torch.tensor({self.indices(n, numel(size))}).view({', '.join(map(str, size))})"
        options += [(lambda: f"{a}.scatter_({d}, {table}, {values})", 4), (lambda: f"{a}.scatter_add_({d}, {table}, {values})", 5),
                    (lambda: f"{a}.scatter_({d}, {table}, {self.number(x.name)})", 2)]
        return [self.weighted(options)()]

    def write_out(self, a, x):
        same = self.variables(lambda y: y.size_ == x.size_)
        b, c = self.random.choice(same), self.random.choice(same)
        # PyTorch refuses operands that meet `out`; here the result is computed before it is written.
        operands = [n if n == a or self.names[n].memory is not x.memory else n + ".clone()" for n in (b, c)]
        return [f"torch.{self.pick('add', 'mul', 'maximum')}({operands[0]}, {operands[1]}, out={a})"]

    # ---- the rest ----
    def forget(self):
        names = self.variables()
        known_to_fit(len(names) > 4)
        return [f"del {self.random.choice(names)}"]

    def look(self):
        names = [self.variable() for _ in range(self.pick(1, 1, 2))]
        return [f"{self.pick('read', 'read', 'evaluate')}({', '.join(names)})"]

    def rebind(self):
        a = self.variable()
        return [f"{a} = {a}{self.view_text(self.names[a])}" if self.chance(60) else f"{a} = {self.read_text()}"]

    def turn(self):
        a = self.variable(lambda x: x.ndim > 1)
        return [f"{a}.transpose_(0, {self.random.randrange(self.names[a].ndim)})"]

    def eagerly(self):
        inner = self.weighted([(self.write, 3), (self.compute, 1)])()
        return [f"with eager():\n    {inner[0]}"]

    def share(self):
        arrays = [n for n, x in self.names.items() if isinstance(x, np.ndarray)]
        if arrays and self.chance(80):
            n = self.random.choice(arrays)
            array = self.names[n]
            known_to_fit(array.ndim and array.size)
            at = ", ".join(str(self.random.randrange(k)) for k in array.shape)
            return [self.pick(f"{n}[{at}] = {self.pick(0, 1, 5)}", f"{n}[...] = {self.pick(2, 3)}")]
        a = self.variable(lambda x: x.name != "bfloat16" and numel(x.size_) > 0)
        self.made += 1
        return [f"n{self.made} = {a}.numpy()"]

    def compiled(self):
        """A function of two aliases that writes and reads, traced, and called twice."""
        # Looking at elements as another dtype needs their value, which a trace has not.
        def one_dtype(x):
            return all(x.memory is not memory for memory in self.viewed)

        a, b = self.variable(one_dtype), self.variable(one_dtype)
        wholes = self.variables(lambda x: one_dtype(x) and numel(x.size_) * x.element_size() == len(x.memory))
        twice = bool(wholes) and self.chance(40)  # once with memory apart, once with the same
        if twice:
            a = b = self.random.choice(wholes)
        # A trace cannot tell what an argument shares with a captured tensor from what other arguments share with it.
        apart = self.variables(lambda x: one_dtype(x) and all(x.memory is not self.names[n].memory for n in (a, b)))
        captured = [self.random.choice(apart)] if apart else []
        outer = self.names
        self.names = {"p": outer[a], "q": outer[b], **{n: outer[n] for n in captured}}
        self.in_function = True
        try:
            body = [self.weighted([(self.write, 3), (self.compute, 1)])()[0] for _ in range(self.random.randint(1, 3))]
            result = self.read_text()
        finally:
            self.names = outer
            self.in_function = False
        body = [line for line in body if not line.startswith(tuple(n + " " for n in ["p", "q", *captured]))]  # those would rebind
        name, f = self.fresh_name(), f"f{self.made}"
        lines = "".join(f"    {line}\n" for line in body + [f"return {result}"])
        # Called again with other aliases of the same kind, which may be those that it captured.
        calls = [f"{name} = {f}({a}, {b})"]
        if twice:
            calls = [f"{name} = {f}({a}, {a}.clone())", f"{name} = {f}({a}, {a}.detach())"]
            self.random.shuffle(calls)
        elif self.chance(60):
            alike = [self.random.choice(self.variables(lambda x, like=outer[n]: one_dtype(x) and (x.name, x.size_) ==
                                                       (like.name, like.size_))) for n in (a, b)]
            calls.append(f"{name} = {f}({', '.join(alike)})")
        return [f"@compiled\ndef {f}(p, q):\n{lines}", *calls]

    def statement(self):
        kinds = [(self.view, 24), (self.write, 36), (self.compute, 14), (self.look, 6), (self.forget, 4), (self.rebind, 3), (self.turn, 2),
                 (self.eagerly, 4), (self.share, 3), (self.compiled, 2), (self.create, 2)]
        return self.weighted(kinds)()


@functools.lru_cache(5000)
def code_of(text):
    return compile(text, "<program>", "exec")


def known_to_fit(ok):
    if not ok:
        raise Unsupported("nothing fits")


def write_program(seed, environment, strict):
    """Lines of 20 to 60 statements that the mirror, whose names `environment` holds, has run."""
    Tensor.strict = strict
    writer = Writer(seed, environment, strict)
    wanted = writer.random.randint(20, 60)
    lines, given_up = [], 0

    def take(statements):
        nonlocal given_up
        for text in statements:
            before = dict(environment)
            try:
                exec(code_of(text), environment)
            except Unsupported:
                given_up += 1
                environment.clear()
                environment.update(before)
                return
            except (Refused, IndexError):
                pass  # the program goes on, and so must the library
            lines.append(text)
            if ".view(torch." in text:
                seen = [x for x in (*before.values(), *environment.values()) if isinstance(x, Tensor)]
                writer.viewed += [x.memory for x in seen if any(x.memory is y.memory and x.name != y.name for y in seen)]
            big = [n for n, x in environment.items() if isinstance(x, Tensor) and numel(x.size_) > MOST_ELEMENTS]
            for n in big:
                lines.append(f"del {n}")
                del environment[n]

    while not writer.variables():
        take(writer.create())
    for _ in range(3):
        try:
            take(writer.view())
        except (Unsupported, Refused, IndexError):
            pass
    while len(lines) < wanted and given_up < 400:
        try:
            names = writer.variables()
            take([f"del {writer.random.choice(names)}"] if len(names) > MOST_VARIABLES else writer.statement())
        except (Unsupported, Refused, IndexError):
            given_up += 1
    return lines
