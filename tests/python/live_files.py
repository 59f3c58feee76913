#!/usr/bin/env python3
"""By hand, where PyTorch is installed: files of PyTorch and of Braze, each read by the other.

    PYTHONPATH=build/python PYTHON_WITH_TORCH tests/python/live_files.py

All dtypes, views, aliases, nests, pickle protocols, parameters, named tuples; torch.load with weights_only=True.
"""
import collections
import io

import braze
import torch

DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()


def build(M, name):
    dtype = getattr(M, name)
    base = (M.arange(24) % 7 - (0 if name in ("bool", "uint8") else 3)).to(dtype).reshape(2, 3, 4)
    return {"base": base, "t": base.transpose(0, 2), "slice": base[:, 1:, ::2], "select": base[1], "scalar": base[0, 1, 2], "none": base[:0],
            "expand": base[0, 0, :1].expand(5), "fresh": M.zeros(0).to(dtype), "zero_d": M.tensor(1).to(dtype), 5: base,
            "nest": [(base, base[0]), {"k": collections.OrderedDict(a=base[1], b=None)}, 3, 2.5, "text", True, None, b"bytes", {1, 2},
                     M.Size([2, 3]), dtype, M.device("cpu"), complex(1, 2), collections.Counter("aab"), bytearray(b"ab"), M.strided],
            "grad": M.ones(2, dtype=dtype, requires_grad=name.startswith(("float", "bfloat", "complex")))}


def compare(a, b, path=""):
    if isinstance(a, (torch.Tensor, braze.Tensor)):
        for what in ("shape", "stride", "storage_offset", "requires_grad", "tolist"):
            x, y = (v() if callable(v) else v for v in (getattr(a, what), getattr(b, what)))
            assert x == y, (path, what, x, y)
        assert str(a.dtype).partition(".")[2] == str(b.dtype).partition(".")[2], path
        assert a.untyped_storage().nbytes() == b.untyped_storage().nbytes(), path
    elif isinstance(a, dict):
        assert list(a) == list(b) and type(a) is type(b), path
        for key in a:
            compare(a[key], b[key], f"{path}/{key}")
    elif isinstance(a, (list, tuple)) and type(a).__name__ != "Size":
        assert len(a) == len(b) and type(a) is type(b), path
        for i, (x, y) in enumerate(zip(a, b)):
            compare(x, y, f"{path}/{i}")
    else:
        assert str(a).replace("torch", "braze") == str(b).replace("torch", "braze"), (path, a, b)


def transfer(write, read, name, protocol, weights_only):
    f = io.BytesIO()
    write.save(build(write, name), f, pickle_protocol=protocol)
    f.seek(0)
    got = read.load(f, weights_only=weights_only)
    compare(build(read, name), got, f"{write.__name__} to {read.__name__} {name} protocol {protocol}")
    assert got[5] is got["base"]
    if name != "bool":
        got["base"].mul_(0)
        assert all(got[k].abs().sum().item() == 0 for k in ("t", "slice", "select", "scalar", "expand"))
        assert got["nest"][0][1].abs().sum().item() == 0


def main():
    count = 0
    for write, read in ((braze, torch), (torch, braze)):
        for name in DTYPES:
            for protocol in (2, 3, 4, 5):
                for weights_only in (True, False):
                    if protocol > 2 and read is torch and weights_only:
                        continue  # its reader of weights takes protocol 2 alone
                    transfer(write, read, name, protocol, weights_only)
                    count += 1
        f = io.BytesIO()
        write.save(write.ones(2, 2).max(1), f)
        f.seek(0)
        got = read.load(f, weights_only=False)
        assert type(got) is read.return_types.max and got.values.tolist() == [1.0, 1.0]
        f = io.BytesIO()
        g = write.Generator().manual_seed(5)
        write.save(g, f)
        f.seek(0)
        assert read.rand(3, generator=read.load(f, weights_only=False)).tolist() == write.rand(3, generator=g).tolist()
    f = io.BytesIO()
    torch.save([torch.nn.Parameter(torch.ones(2)), torch.nn.Linear(3, 2).state_dict()], f)
    f.seek(0)
    parameter, state = braze.load(f)
    assert parameter.requires_grad and state["weight"].shape == (2, 3) and not state["bias"].requires_grad
    print(f"{count} files with PyTorch {torch.__version__}: the same both ways")


main()
