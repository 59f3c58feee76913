"""What it costs to call Braze from Python, after `./dev bench` has measured the C++ side; results are checked before they are timed.

    ./dev python bench/python.py                              Braze alone
    PYTHONPATH=build/python python bench/python.py --against torch    beside PyTorch's eager mode, in a Python that has both
"""
import argparse
import gc
import os
import resource
import sys
import time

import numpy

LIVE, ELEMENTS = 1000, 1 << 20


def seconds(body, repetitions, rounds=9):
    """The best of the rounds, a repetition: costs that small are disturbed upwards only."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(repetitions):
            body()
        best = min(best, time.perf_counter() - start)
    return best / repetitions


def burst_seconds(body, settle, length=100, bursts=300):
    """As `seconds`, of bursts that `settle` ends untimed: what they record otherwise grows until the engine runs it by itself."""
    best = float("inf")
    for _ in range(bursts):
        start = time.perf_counter()
        for _ in range(length):
            body()
        best = min(best, time.perf_counter() - start)
        settle()
    return best / length


def medians(bodies, rounds):
    """Of bodies that take turns of a few runs, with a pause before each turn: PyTorch's threads spin for milliseconds after a run."""
    turn = 5
    times = [[] for _ in bodies]
    for _ in range(-(-rounds // turn)):
        for body, taken in zip(bodies, times):
            time.sleep(0.02)
            body()
            for _ in range(turn):
                start = time.perf_counter()
                body()
                taken.append(time.perf_counter() - start)
    return [sorted(taken)[len(taken) // 2] for taken in times]


def resident_mb():
    with open("/proc/self/statm", encoding="utf-8") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 1e6


def recording(torch):
    a, b = torch.ones(16), torch.ones(16)
    torch.eval((a, b))
    column = torch.ones(16, 1)
    torch.eval((column,))
    written = torch.ones(16)
    for name, body, check in (("a + b", lambda: a + b, 2.0), ("a * 2.0", lambda: a * 2.0, 2.0), ("2 - a", lambda: 2 - a, 1.0),
                              ("a.add_(b)", lambda: written.add_(b), 2.0), ("a.sum()", lambda: a.sum(), 16.0),
                              ("a[1:]", lambda: a[1:], 1.0), ("torch.exp(a)", lambda: torch.exp(a), numpy.exp(numpy.float32(1)))):
        got = body()
        assert numpy.allclose(got.tolist(), check), (name, got)
        gc.disable()
        ns = (burst_seconds(body, lambda: torch.eval((written,))) if "add_" in name else seconds(body, 20000)) * 1e9
        gc.enable()
        print(f"{'record ' + name + ', from Python':58} {ns:8.0f} ns   (allowed: 350 ns)")
    ns = seconds(lambda: written.add_(b), 20000) * 1e9
    print(f"{'record and, when many are pending, run a.add_(b)':58} {ns:8.0f} ns")
    compiled = torch.compile(lambda x, y: (x * 2 + y).tanh())
    assert numpy.allclose(compiled(a, b).tolist(), numpy.tanh(3.0))
    for name, body in (("call a compiled function of two tensors", lambda: compiled(a, b)),
                       ("record and evaluate the same", lambda: torch.eval((a * 2 + b).tanh()))):
        print(f"{name + ', 16 elements':58} {seconds(body, 20000) * 1e9:8.0f} ns")


def memory(torch):
    """How much a loop whose results nobody reads grows between its 100,000th op and its millionth."""
    def loop(name, start, step):
        state = start()
        grown = None
        for i in range(1000000):
            state = step(state)
            if i == 100000:
                grown = resident_mb()
        grown = resident_mb() - grown
        print(f"{'memory of ' + name + ', op 1e5 to op 1e6':58} {grown:8.1f} MB   (allowed: 20 MB)", flush=True)

    a = torch.ones(16)
    loop("a + 1, never read", lambda: a, lambda x: a + 1)
    loop("x = x + 1, never read", lambda: a, lambda x: x + 1)
    base = torch.zeros(64)
    view = base[8:24]

    def write(x):
        x += 1
        return x

    loop("x += 1 through a view", lambda: view, write)
    assert view.tolist() == [1000000.0] * 16 and base.tolist()[:8] == [0.0] * 8, "the writes are right"


def slice_assignment(torch, against):
    """x[k:k + n] = v of a tensor of 1M elements, where a thousand others live."""
    n = 1000

    def prepare(library):
        others = [library.ones(n) * i for i in range(LIVE)]
        x, v = library.zeros(ELEMENTS), library.ones(n)
        if library is torch:
            torch.eval((x, v, *others))

        def write():
            x[5000:5000 + n] = v
            if library is torch:
                torch.eval((x,))

        return others, x, write

    libraries = [torch] + ([against] if against else [])
    prepared = [prepare(library) for library in libraries]
    for _, x, write in prepared:
        write()
        total = float(x.sum())
        assert total == n, total
        start = x.storage_data_ptr() if hasattr(x, "storage_data_ptr") else None
        write()
        assert start is None or start == x.storage_data_ptr()
    times = medians([lambda write=write: [write() for _ in range(200)] for _, _, write in prepared], 15)
    moved = 2 * n * 4
    ours = times[0] / 200
    whole = 2 * ELEMENTS * 4 / 10e9  # what a copy of the tensor would take at least, at 10 GB/s
    print(f"{'x[k:k+1000] = v, 1M elements, 1000 others live, run':58} {ours * 1e9:8.0f} ns   ({moved} bytes moved; a copy of x: {2 * ELEMENTS * 4} bytes, "
          f"{whole * 1e9:.0f} ns)")
    if against:
        theirs = times[1] / 200
        print(f"{'the same in PyTorch':58} {theirs * 1e9:8.0f} ns   (ratio {ours / theirs:.2f}, allowed: 2)")


def windows(torch, against):
    """Convolutions, pooling and resampling beside PyTorch's."""
    if not against:
        return
    rng = numpy.random.default_rng(0)

    def array(*size, dtype=numpy.float32):
        return rng.standard_normal(size).astype(dtype)

    cases = {
        "conv2d 8x64x56x56, 64 3x3": ((array(8, 64, 56, 56), array(64, 64, 3, 3)), lambda F, x, w: F.conv2d(x, w, padding=1)),
        "conv2d the same, stride 2": ((array(8, 64, 56, 56), array(64, 64, 3, 3)), lambda F, x, w: F.conv2d(x, w, stride=2, padding=1)),
        "conv2d 8x3x112x112, 32 7x7, stride 2": ((array(8, 3, 112, 112), array(32, 3, 7, 7)),
                                                 lambda F, x, w: F.conv2d(x, w, stride=2, padding=3)),
        "conv2d 8x128x28x28, 128 1x1": ((array(8, 128, 28, 28), array(128, 128, 1, 1)), lambda F, x, w: F.conv2d(x, w)),
        "conv2d the same 1x1, stride 2": ((array(8, 128, 28, 28), array(128, 128, 1, 1)), lambda F, x, w: F.conv2d(x, w, stride=2)),
        "conv2d 1x1x28x28, 32 3x3": ((array(1, 1, 28, 28), array(32, 1, 3, 3)), lambda F, x, w: F.conv2d(x, w)),
        "conv2d 8x512x7x7, 512 3x3": ((array(8, 512, 7, 7), array(512, 512, 3, 3)), lambda F, x, w: F.conv2d(x, w, padding=1)),
        "conv2d 1x256x14x14, 256 3x3": ((array(1, 256, 14, 14), array(256, 256, 3, 3)), lambda F, x, w: F.conv2d(x, w, padding=1)),
        "conv2d 8x64x56x56, 64 3x3, dilation 2": ((array(8, 64, 56, 56), array(64, 64, 3, 3)),
                                                  lambda F, x, w: F.conv2d(x, w, padding=2, dilation=2)),
        "conv2d 8x64x56x56, 64 3x3, 4 groups": ((array(8, 64, 56, 56), array(64, 16, 3, 3)),
                                                lambda F, x, w: F.conv2d(x, w, padding=1, groups=4)),
        "conv2d 8x128x28x28, 128 3x3, 32 groups": ((array(8, 128, 28, 28), array(128, 4, 3, 3)),
                                                   lambda F, x, w: F.conv2d(x, w, padding=1, groups=32)),
        "conv2d 8x64x56x56, depthwise 3x3": ((array(8, 64, 56, 56), array(64, 1, 3, 3)),
                                             lambda F, x, w: F.conv2d(x, w, padding=1, groups=64)),
        "conv2d the same, stride 2, depthwise": ((array(8, 64, 56, 56), array(64, 1, 3, 3)),
                                                 lambda F, x, w: F.conv2d(x, w, padding=1, stride=2, groups=64)),
        "conv2d 8x64x56x56, depthwise 7x7": ((array(8, 64, 56, 56), array(64, 1, 7, 7)),
                                             lambda F, x, w: F.conv2d(x, w, padding=3, groups=64)),
        "conv2d 4x32x56x56, 32 3x3, float64": ((array(4, 32, 56, 56, dtype=float), array(32, 32, 3, 3, dtype=float)),
                                               lambda F, x, w: F.conv2d(x, w, padding=1)),
        "conv1d 8x64x1024, 64 of 5": ((array(8, 64, 1024), array(64, 64, 5)), lambda F, x, w: F.conv1d(x, w, padding=2)),
        "conv1d the same, stride 2, dilation 2": ((array(8, 64, 1024), array(64, 64, 5)),
                                                  lambda F, x, w: F.conv1d(x, w, stride=2, dilation=2, padding=2)),
        "max_pool2d 8x64x56x56, 2x2": ((array(8, 64, 56, 56),), lambda F, x: F.max_pool2d(x, 2)),
        "max_pool2d 8x64x56x56, 3x3 stride 2": ((array(8, 64, 56, 56),), lambda F, x: F.max_pool2d(x, 3, 2, 1)),
        "max_pool2d 8x64x56x56, 3x3 dilation 2": ((array(8, 64, 56, 56),), lambda F, x: F.max_pool2d(x, 3, 1, 1, 2)),
        "avg_pool2d 8x64x56x56, 2x2": ((array(8, 64, 56, 56),), lambda F, x: F.avg_pool2d(x, 2)),
        "avg_pool2d 8x64x56x56, 3x3 stride 2": ((array(8, 64, 56, 56),), lambda F, x: F.avg_pool2d(x, 3, 2, 1)),
        "interpolate 8x16x64x64, bilinear x2": ((array(8, 16, 64, 64),),
                                                lambda F, x: F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)),
        "interpolate 8x16x64x64, bilinear to 109": ((array(8, 16, 64, 64),), lambda F, x: F.interpolate(x, size=(109, 109), mode="bilinear")),
        "interpolate 8x16x64x64, bicubic x2": ((array(8, 16, 64, 64),), lambda F, x: F.interpolate(x, scale_factor=2, mode="bicubic")),
        "interpolate 8x16x64x64, nearest x2": ((array(8, 16, 64, 64),), lambda F, x: F.interpolate(x, scale_factor=2, mode="nearest")),
        "interpolate 8x16x64x64, nearest to 97": ((array(8, 16, 64, 64),), lambda F, x: F.interpolate(x, size=(97, 97), mode="nearest")),
    }
    print(f"\n{'window functions':44} {'braze ms':>10} {'torch ms':>10} {'ratio':>7}   (allowed: 2)")
    for name, (arrays, function) in cases.items():
        ours = [torch.tensor(x.tolist()) if x.size < 10 else torch.from_numpy(x).clone() for x in arrays]
        torch.eval(tuple(ours))
        theirs = [against.from_numpy(x) for x in arrays]

        def braze_run(ours=ours, function=function):
            result = function(torch.nn.functional, *ours)
            torch.eval((result,))
            return result

        def torch_run(theirs=theirs, function=function):
            return function(against.nn.functional, *theirs)

        a, b = braze_run().numpy(), torch_run().numpy()
        assert a.shape == b.shape and numpy.allclose(a, b, rtol=1e-3, atol=1e-3), (name, abs(a - b).max())
        mine, other = medians([braze_run, torch_run], 31)
        print(f"{name:44} {mine * 1e3:10.3f} {other * 1e3:10.3f} {mine / other:6.2f}x", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", choices=["torch"])
    parser.add_argument("--only", default="recording,memory,assignment,windows")
    arguments = parser.parse_args()
    import braze
    against = __import__(arguments.against) if arguments.against else None
    if against:
        against.set_num_threads(int(os.environ.get("BRAZE_NUM_THREADS", os.cpu_count())))
        braze.set_num_threads(against.get_num_threads())
    parts = {"recording": lambda: recording(braze), "memory": lambda: memory(braze),
             "assignment": lambda: slice_assignment(braze, against), "windows": lambda: windows(braze, against)}
    for name in arguments.only.split(","):
        parts[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
