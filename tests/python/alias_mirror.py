"""PyTorch's tensors over NumPy memory, as much as alias_fuzz.py writes programs in: one mutable storage, any number of layouts on it,
every step done at once. Where PyTorch raises this raises `Refused`, a RuntimeError; what PyTorch leaves undefined, and what this
does not know, raises `Unsupported`, and the program is not run.
"""
import numpy as np

from alias_layout import broadcast, inferred, is_dense, numel, row_major, viewed_strides
from alias_numbers import (COMPUTED, FLOATS, STORED, Unsupported, category, converted, from_bfloat16, known, of_number,
                           promoted, require, to_bfloat16)


def result_type(*operands):
    """Tensors with dims decide; those without, and then numbers, count only where they are of a higher category."""
    ranked = [None, None, None]
    for x in operands:
        kind = (2 if x.size_ else 1) if isinstance(x, Tensor) else 0
        dtype = x.name if isinstance(x, Tensor) else of_number(x)
        ranked[kind] = promoted(ranked[kind], dtype) if ranked[kind] else dtype

    def combine(higher, lower):
        if not higher or not lower:
            return higher or lower
        return promoted(higher, lower) if category(lower) > category(higher) else higher

    return combine(ranked[2], combine(ranked[1], ranked[0]))


def dense_like(size, operands):
    """The strides that an elementwise result gets: its dims in the order of its operands'."""
    numbers = len(operands)
    operands = tensors(*operands)
    numbers -= len(operands)
    lined = []
    for x in operands:
        lead = len(size) - len(x.size_)
        lined.append([0] * lead + [0 if x.size_[i] == 1 and size[lead + i] != 1 else x.stride_[i] for i in range(len(x.size_))])
    same = not numbers and all(x.size_ == tuple(size) for x in operands)
    if same and all(x.is_contiguous() for x in operands):
        return row_major(size)
    if same and operands and all(is_dense(x.size_, x.stride_) and x.stride_ == operands[0].stride_ for x in operands):
        return operands[0].stride_

    def swaps(a, b):
        for stride in lined:
            if stride[a] == 0 or stride[b] == 0:
                continue
            if stride[a] != stride[b]:
                return -1 if stride[a] < stride[b] else 1
            if size[a] > size[b]:
                return 1
        return 0

    order = list(reversed(range(len(size))))  # fastest first
    for i in range(1, len(order)):
        at = i
        for j in reversed(range(i)):
            way = swaps(order[j], order[at])
            if way > 0:
                order[j], order[at] = order[at], order[j]
                at = j
            elif way < 0:
                break
    strides, step = [0] * len(size), 1
    for d in order:
        strides[d] = step
        step *= max(size[d], 1)
    return tuple(strides)


def tensors(*operands):
    return [x for x in operands if isinstance(x, Tensor)]


class Tensor:
    strict = False  # whether what PyTorch leaves undefined is Unsupported

    def __init__(self, memory, name, offset, size, stride):
        self.memory, self.name, self.offset = memory, name, int(offset)
        self.size_, self.stride_ = tuple(int(n) for n in size), tuple(int(s) for s in stride)

    # Elements of memory, and the values they mean.
    def bits(self):
        kind = STORED[self.name]
        flat = self.memory[:len(self.memory) // kind.itemsize * kind.itemsize].view(kind)
        return np.lib.stride_tricks.as_strided(flat[self.offset:], self.size_, [s * kind.itemsize for s in self.stride_])

    def values(self):
        bits = self.bits().copy()
        return from_bfloat16(bits) if self.name == "bfloat16" else bits.astype(COMPUTED[self.name])

    def put(self, values):
        values = np.broadcast_to(converted(np.asarray(values), self.name), self.size_)
        self.bits()[...] = to_bfloat16(values) if self.name == "bfloat16" else values.astype(STORED[self.name])

    def places(self):
        at = np.full(self.size_, self.offset, np.int64)
        for d, (n, s) in enumerate(zip(self.size_, self.stride_)):
            at += (np.arange(n) * s).reshape([-1] + [1] * (len(self.size_) - d - 1))
        return at * STORED[self.name].itemsize

    # What PyTorch refuses to write to, and what nobody can say the result of.
    def writable(self):
        if is_dense(self.size_, self.stride_):
            return
        require(not self.repeats(), "written-to elements share memory")
        if len(np.unique(self.places())) != numel(self.size_):
            known(not Tensor.strict, "a write to elements that share memory")
            require(False, "written-to elements share memory")

    def warned(self):
        """Writes that PyTorch warns of where dims are expanded, and then does, one element after another."""
        known(not (self.repeats() and Tensor.strict), "in which order PyTorch writes what shares memory")
        once = self.on([1 if s == 0 else n for n, s in zip(self.size_, self.stride_)], self.stride_)
        known(len(np.unique(once.places())) == numel(once.size_), "a write to elements that share memory by their strides")

    def repeats(self):
        return any(n > 1 and s == 0 for n, s in zip(self.size_, self.stride_))

    def put_at(self, picked, values):
        """Writes to what NumPy's index picks, one element after another."""
        kind = STORED[self.name]
        at = self.places()[picked] // kind.itemsize
        values = np.broadcast_to(converted(np.asarray(values), self.name), at.shape)
        flat = self.memory[:len(self.memory) // kind.itemsize * kind.itemsize].view(kind)
        for place, value in zip(at.ravel(), (to_bfloat16(values) if self.name == "bfloat16" else values.astype(kind)).ravel()):
            flat[place] = value

    def meets(self, other):
        """Refuses a write to self that reads `other` where PyTorch does."""
        if not isinstance(other, Tensor) or other is self or other.memory is not self.memory:
            return
        if not numel(self.size_) or not numel(other.size_):
            return
        known(0 not in self.stride_, "a write through an expanded dim, of what lies in the same memory")
        mine, its = self.places(), other.places()
        if is_dense(self.size_, self.stride_) and is_dense(other.size_, other.stride_):
            a, b = (mine.min(), mine.max() + self.element_size()), (its.min(), its.max() + other.element_size())
            # PyTorch compares the strides of dims of one element too, which say nothing.
            known(a != b or 1 not in self.size_ + other.size_, "the same stretch under strides that nobody compares")
            if a == b and self.stride_ == other.stride_:
                return
            require(a[0] >= b[1] or b[0] >= a[1], "the operand shares memory with what is written")
            return
        if self.name == other.name and mine.shape == its.shape and np.array_equal(mine, its):
            return
        if Tensor.strict:
            def cover(x, at):
                return set((at.ravel()[:, None] + np.arange(x.element_size())).ravel().tolist())

            known(not cover(self, mine) & cover(other, its), "an operand that partly shares memory with what is written")

    def overwrite(self, values, *operands):
        self.writable()
        for x in operands:
            self.meets(x)
        self.put(values)
        return self

    # ---- attributes ----
    dtype = property(lambda self: self.name)
    shape = property(lambda self: self.size_)
    ndim = property(lambda self: len(self.size_))

    def size(self, d):
        return self.size_[d]

    def numel(self):
        return numel(self.size_)

    def stride(self):
        return self.stride_

    def storage_offset(self):
        return self.offset

    def element_size(self):
        return STORED[self.name].itemsize

    def is_contiguous(self):
        if not numel(self.size_):
            return True
        return all(n == 1 or s == e for n, s, e in zip(self.size_, self.stride_, row_major(self.size_)))

    def tolist(self):
        return self.values().tolist()

    def numpy(self):
        return self.bits()

    # ---- views ----
    def on(self, size, stride, offset=None, name=None):
        return Tensor(self.memory, name or self.name, self.offset if offset is None else offset, size, stride)

    def dim_of(self, d, extra=0):
        rank = max(len(self.size_) + extra, 1)
        if not -rank <= d < rank:
            raise IndexError("Dimension out of range")
        return d % rank

    def detach(self):
        return self.on(self.size_, self.stride_)

    def as_strided(self, size, stride, offset=None):
        last = (self.offset if offset is None else offset) + sum((n - 1) * s for n, s in zip(size, stride))
        require(not numel(size) or last < len(self.memory) // self.element_size(), "out of bounds for storage")
        return self.on(size, stride, self.offset if offset is None else offset)

    def permute(self, *dims):
        return self.on([self.size_[d] for d in dims], [self.stride_[d] for d in dims])

    def transpose(self, a, b):
        dims = list(range(self.ndim))
        if dims:
            dims[a], dims[b] = dims[b], dims[a]
        return self.permute(*dims)

    mT = property(lambda self: self.transpose(-2, -1))

    def movedim(self, source, to):
        dims = [d for d in range(self.ndim) if d != source % self.ndim]
        dims.insert(to % self.ndim, source % self.ndim)
        return self.permute(*dims)

    def unsqueeze(self, d):
        d = self.dim_of(d, 1)
        step = self.size_[d] * self.stride_[d] if d < self.ndim else 1
        return self.on(self.size_[:d] + (1,) + self.size_[d:], self.stride_[:d] + (step,) + self.stride_[d:])

    def squeeze(self, d):
        d = self.dim_of(d)
        if self.ndim == 0 or self.size_[d] != 1:
            return self.detach()
        return self.on(self.size_[:d] + self.size_[d + 1:], self.stride_[:d] + self.stride_[d + 1:])

    def select(self, d, i):
        if self.ndim == 0 or not -self.size_[d] <= i < self.size_[d]:
            raise IndexError("index out of range")
        d, i = d % self.ndim, i % self.size_[d]
        return self.on(self.size_[:d] + self.size_[d + 1:], self.stride_[:d] + self.stride_[d + 1:],
                       self.offset + i * self.stride_[d])

    def sliced(self, d, start, stop, step):
        start, stop, step = slice(start, stop, step).indices(self.size_[d])
        n = max(0, -(-(stop - start) // step))
        if n == 0 and stop < start:  # where PyTorch clamps differently
            stop = start
        return self.on(self.size_[:d] + (n,) + self.size_[d + 1:], self.stride_[:d] + (self.stride_[d] * step,) + self.stride_[d + 1:],
                       self.offset + start * self.stride_[d])

    def narrow(self, d, start, length):
        require(0 <= start and start + length <= self.size_[d], "narrow out of range")
        return self.sliced(d % self.ndim, start, start + length, 1)

    def diagonal(self, offset=0, dim1=0, dim2=1):
        a, b = dim1 % self.ndim, dim2 % self.ndim
        n = max(0, min(self.size_[a], self.size_[b] - offset) if offset >= 0 else min(self.size_[a] + offset, self.size_[b]))
        start = 0 if n == 0 else offset * self.stride_[b] if offset >= 0 else -offset * self.stride_[a]
        rest = [d for d in range(self.ndim) if d not in (a, b)]
        return self.on([self.size_[d] for d in rest] + [n], [self.stride_[d] for d in rest] + [self.stride_[a] + self.stride_[b]],
                       self.offset + start)

    def unfold(self, d, size, step):
        require(size <= self.size_[d], "unfold: the window is larger than the dim")
        d %= self.ndim
        n = (self.size_[d] - size) // step + 1
        return self.on(self.size_[:d] + (n,) + self.size_[d + 1:] + (size,),
                       self.stride_[:d] + (self.stride_[d] * step,) + self.stride_[d + 1:] + (self.stride_[d],))

    def expand(self, *size):
        lead = len(size) - self.ndim
        require(lead >= 0 and all(n == s or n == 1 for n, s in zip(self.size_, size[lead:])), "expand: sizes do not match")
        return self.on(size, [0] * lead + [s if n == want else 0 for n, s, want in zip(self.size_, self.stride_, size[lead:])])

    def view(self, *size):
        if isinstance(size[0], str):
            return self.view_as_dtype(size[0])
        size = inferred(size, self.numel())
        stride = viewed_strides(self.size_, self.stride_, size)
        require(stride is not None, "view size is not compatible with the strides")
        return self.on(size, stride)

    def view_as_dtype(self, name):
        known(self.numel() > 0, "the strides of nothing")
        known(not self.size_ or self.size_[-1] != 1, "the stride of a last dim of one, which decides here")
        mine, its = self.element_size(), STORED[name].itemsize
        if mine == its:
            return self.on(self.size_, self.stride_, name=name)
        require(self.ndim > 0, "a scalar cannot be viewed as another element size")
        if mine > its:
            ratio = mine // its
            require(self.stride_[-1] == 1, "the last dim must be contiguous")
            return self.on(self.size_[:-1] + (self.size_[-1] * ratio,), [s * ratio for s in self.stride_[:-1]] + [1],
                           self.offset * ratio, name)
        ratio = its // mine
        require(self.size_[-1] % ratio == 0 and self.offset % ratio == 0 and self.stride_[-1] == 1
                and all(s % ratio == 0 for s in self.stride_[:-1]), "sizes or strides are not divisible")
        return self.on(self.size_[:-1] + (self.size_[-1] // ratio,), [s // ratio for s in self.stride_[:-1]] + [1],
                       self.offset // ratio, name)

    def reshape(self, *size):
        size = inferred(size, self.numel())
        stride = viewed_strides(self.size_, self.stride_, size)
        return self.on(size, stride) if stride is not None else fresh(self.values().reshape(size), self.name)

    def flatten(self):
        return self.reshape(-1)

    def unbind(self, d):
        return [self.select(d, i) for i in range(self.size_[d])]

    def split(self, n, d):
        return [self.sliced(d, at, at + n, 1) for at in range(0, max(self.size_[d], 1), n)]

    def transpose_(self, a, b):
        self.stride_, self.size_ = self.transpose(a, b).stride_, self.transpose(a, b).size_
        return self

    def basic(self, index):
        out, d = self, 0
        index = index if isinstance(index, tuple) else (index,)
        taken = sum(1 for i in index if i is not None and i is not Ellipsis)
        if taken > self.ndim:
            raise IndexError("too many indices")
        for i in index:
            if i is None:
                out = out.unsqueeze(d)
                d += 1
            elif i is Ellipsis:
                d += self.ndim - taken
            elif isinstance(i, slice):
                out = out.sliced(d, i.start, i.stop, i.step)
                d += 1
            else:
                out = out.select(d, i)
        return out

    def picked(self, index):
        """NumPy's index where some part of `index` is a tensor."""
        index = index if isinstance(index, tuple) else (index,)
        if not any(isinstance(i, Tensor) for i in index):
            return None
        for i in index:
            known(not isinstance(i, Tensor) or i.name in ("bool", "int64"))
        return tuple(i.values() if isinstance(i, Tensor) else i for i in index)

    def __getitem__(self, index):
        picked = self.picked(index)
        return self.basic(index) if picked is None else fresh(self.values()[picked], self.name)

    def __setitem__(self, index, value):
        picked = self.picked(index)
        if picked is None:
            target = self.basic(index)
            if isinstance(value, Tensor) and (value.ndim or target.size_ == value.size_):
                while value.ndim > target.ndim and value.size_[0] == 1:
                    value = value.select(0, 0)
                require(broadcast(target.size_, value.size_) == target.size_, "sizes do not broadcast")
                target.copy_(value.expand(*target.size_))
            else:
                target.fill_(value)
            return
        self.warned()
        if isinstance(value, Tensor):
            known(value.memory is not self.memory or not numel(value.size_), "picked elements written from the same memory")
            picks = [i for i in (index if isinstance(index, tuple) else (index,)) if isinstance(i, Tensor)]
            fills = value.numel() == 1 and len(picks) == 1 and picks[0].name == "bool"
            require(value.name == self.name or fills, "dtypes of an index_put differ")
            value = value.values()
        try:
            self.put_at(picked, value)
        except (ValueError, IndexError) as why:
            raise Unsupported(str(why)) from None

    # ---- copies ----
    def clone(self):
        return fresh(self.values(), self.name, self.preserved_stride())

    def preserved_stride(self):
        """What copies keep: the very strides of dense elements, those of dims of one included."""
        return self.stride_ if is_dense(self.size_, self.stride_) else dense_like(self.size_, [self])

    def contiguous(self):
        return self if self.is_contiguous() else fresh(self.values(), self.name)

    def to(self, name):
        return self if name == self.name else fresh(self.values(), name, self.preserved_stride())

    # ---- elementwise ----
    def unary(self, f):
        return fresh(f(self.values()), self.name, dense_like(self.size_, [self]))

    def neg(self):
        require(self.name != "bool", "negation of bool")
        return self.unary(np.negative)

    def abs(self):
        known(self.name != "bool")
        return self.unary(np.abs)

    __neg__ = neg

    def logical_not(self):
        return fresh(self.values() == 0, "bool", dense_like(self.size_, [self]))

    def clamp(self, low, high):
        name = result_type(self, low, high)
        return fresh(np.clip(converted(self.values(), name), low, high), name, dense_like(self.size_, [self]))

    def nan_to_num(self, nan, high, low):
        x = self.values()
        return fresh(np.where(np.isnan(x), nan, np.where(x == np.inf, high, np.where(x == -np.inf, low, x))), self.name,
                     dense_like(self.size_, [self]))

    def remainder(self, by):
        known(self.name not in FLOATS + ["bool"] and by > 0)
        return self.unary(lambda x: np.mod(x, np.asarray(by, x.dtype)))

    def neg_(self):
        require(self.name != "bool", "negation of bool")
        return self.overwrite(np.negative(self.values()))

    def abs_(self):
        known(self.name != "bool")
        return self.overwrite(np.abs(self.values()))

    def clamp_(self, low, high):
        require(category(result_type(self, low, high)) <= category(self.name), "the result cannot be cast")
        return self.overwrite(np.clip(self.values(), low, high))

    def remainder_(self, by):
        known(self.name not in FLOATS + ["bool"] and by > 0)
        return self.overwrite(np.mod(self.values(), np.asarray(by, self.values().dtype)))

    # ---- writes ----
    def copy_(self, other):
        if other is self:
            return self
        if other.memory is self.memory and (other.name, other.offset, other.size_) == (self.name, self.offset, self.size_):
            known(1 not in self.size_, "the same elements, if the strides of dims of one say so")
            if other.stride_ == self.stride_:
                return self
        require(broadcast(self.size_, other.size_) == self.size_, "copy_: sizes do not broadcast")
        return self.overwrite(other.values(), other)

    def fill_(self, value):
        if isinstance(value, Tensor):
            require(value.ndim == 0, "fill_ takes a tensor of no dims")
            value = value.values()
        self.put(value)  # the same in all elements, so that those that share memory do no harm
        return self

    def zero_(self):
        return self.fill_(0)

    def masked_fill_(self, mask, value):
        require(mask.name == "bool", "masked_fill_ takes a bool mask")
        require(broadcast(self.size_, mask.size_) == self.size_, "the mask does not broadcast")
        require(category(of_number(value)) <= category(self.name), "the value cannot be converted")
        self.meets_mask(mask)
        self.warned()
        self.put_at(np.broadcast_to(mask.values(), self.size_), value)
        return self

    def meets_mask(self, mask):
        known(mask.memory is not self.memory, "a mask in the written memory")

    # The rows of self along `dim` that `index` names, one after another: repeats combine in order.
    def by_index(self, dim, index, source, combine, warned=False):
        known(index.name == "int64" and index.memory is not self.memory and index.ndim <= 1)
        self.warned() if warned else self.writable()
        where = index.values().reshape(-1)
        if isinstance(source, Tensor):
            known(source.memory is not self.memory, "rows written from the same memory")
            require(source.name == self.name, "dtypes differ")
            known(source.size_[:dim] + source.size_[dim + 1:] == self.size_[:dim] + self.size_[dim + 1:])
            require(source.size_[dim] == len(where), "as many rows as indices")
        known(all(0 <= i < self.size_[dim] for i in where))
        for k, i in enumerate(where):
            row = self.select(dim, int(i))
            new = source.select(dim, k).values() if isinstance(source, Tensor) else converted(np.asarray(source), self.name)
            row.put(combine(row.values(), new))
        return self

    def index_add_(self, dim, index, source):
        return self.by_index(dim, index, source, lambda old, new: added(old, new))

    def index_copy_(self, dim, index, source):
        return self.by_index(dim, index, source, lambda old, new: new)

    def index_fill_(self, dim, index, value):
        require(category(of_number(value)) <= category(self.name))
        return self.by_index(dim, index, value, lambda old, new: np.broadcast_to(new, old.shape), warned=True)

    def scattered(self, dim, index, source, combine):
        known(index.name == "int64" and index.memory is not self.memory and index.ndim == self.ndim and self.ndim > 0)
        self.writable()
        known(all(d == dim or n <= m for d, (n, m) in enumerate(zip(index.size_, self.size_))))
        if isinstance(source, Tensor):
            known(source.memory is not self.memory)
            require(source.name == self.name, "dtypes differ")
            known(all(n <= m for n, m in zip(index.size_, source.size_)))
        values, where = self.values(), index.values()
        given = source.values() if isinstance(source, Tensor) else None
        known(where.size == 0 or (where.min() >= 0 and where.max() < self.size_[dim]))
        for at in np.ndindex(*index.size_):
            to = at[:dim] + (int(where[at]),) + at[dim + 1:]
            new = given[at] if given is not None else converted(np.asarray(source), self.name)[()]
            values[to] = converted(np.asarray(combine(values[to], new)), self.name)
        self.put(values)
        return self

    def scatter_(self, dim, index, source):
        return self.scattered(dim, index, source, lambda old, new: new)

    def scatter_add_(self, dim, index, source):
        return self.scattered(dim, index, source, added)

    def index_put_(self, index, value, accumulate):
        known(len(index) == 1 and index[0].name == "int64" and accumulate and self.ndim == 1)
        require(value.name == self.name, "dtypes of an index_put differ")
        return self.by_index(0, index[0], value, added, warned=True)

    # ---- reads of several elements ----
    def sum(self, dim):
        known(self.name not in FLOATS)
        return fresh(self.values().astype(np.int64).sum(dim), "int64")

    def amax(self, dim):
        known(self.ndim == 0 or self.size_[dim] > 0)
        return fresh(self.values().max(dim) if self.ndim else self.values(), self.name)

    def cumsum(self, dim):
        known(self.name not in FLOATS)
        return fresh(np.cumsum(self.values().astype(np.int64), dim) if self.ndim else self.values().astype(np.int64), "int64")

    def gather(self, dim, index):
        known(index.ndim == self.ndim and index.name == "int64")
        known(all(d == dim or n <= m for d, (n, m) in enumerate(zip(index.size_, self.size_))))
        where = index.values()
        known(where.size == 0 or (where.min() >= 0 and where.max() < self.size_[dim]))
        cut = tuple(slice(None) if d == dim else slice(0, n) for d, n in enumerate(index.size_))
        return fresh(np.take_along_axis(self.values()[cut], where, dim), self.name)

    def index_select(self, dim, index):
        known(index.name == "int64" and index.ndim == 1)
        where = index.values()
        known(all(0 <= i < self.size_[dim] for i in where))
        return fresh(np.take(self.values(), where, dim), self.name)


def added(old, new):
    """Of values as computed with; numpy adds bools as PyTorch does."""
    return np.add(old, new)


def fresh(values, name, stride=None):
    """A new tensor with memory of its own."""
    values = np.asarray(values)
    stride = row_major(values.shape) if stride is None else stride
    out = Tensor(np.zeros(values.size * STORED[name].itemsize, np.uint8), name, 0, values.shape, stride)
    if values.size:
        out.put(values)
    return out


def value_of(x, name):
    return converted(x.values() if isinstance(x, Tensor) else np.asarray(x), name)
