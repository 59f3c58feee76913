"""Training: steps beside PyTorch's eager mode, and what else is asked of derivatives, optimizers and loaders.

    ./dev python bench/training.py                                       Braze alone
    PYTHONPATH=build/python python bench/training.py --against torch     in a Python that has both
    --only steps,compiled,memory,adam,derivative,loader                           some of it; --seed N repeats a network drawn at random

Both train the same network from the same weights on the same batches; the losses must agree before anything is timed. They take turns of a
few steps, with a pause before each turn: PyTorch's threads go on spinning for milliseconds after a step, on the cores that the next one needs.
"""
import argparse
import json
import os
import re
import resource
import subprocess
import sys
import time

import numpy

WARM, ROUNDS, TIMED = 6, 5, 5


# ---- what is trained ----

def mlp(T, rng):
    nn = T.nn
    net = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    return net, batches(T, rng, (64, 784), 10), T.optim.SGD(net.parameters(), lr=0.05)


def convnet(T, rng):
    nn = T.nn
    net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                        nn.Flatten(), nn.Linear(32 * 49, 10))
    return net, batches(T, rng, (64, 1, 28, 28), 10), T.optim.SGD(net.parameters(), lr=0.05)


def transformer(T, rng):
    nn, F = T.nn, T.nn.functional

    class Block(nn.Module):
        def __init__(self, width=256, heads=4):
            super().__init__()
            self.heads = heads
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            self.head = nn.Linear(width, 16)

        def forward(self, x):
            b, n, c = x.shape
            q, k, v = (t.reshape(b, n, self.heads, c // self.heads).transpose(1, 2) for t in self.qkv(self.first(x)).chunk(3, -1))
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, n, c)
            x = x + self.out(mixed)
            x = x + self.down(F.gelu(self.up(self.second(x))))
            return self.head(x.mean(1))

    net = Block()
    return net, batches(T, rng, (8, 128, 256), 16), T.optim.AdamW(net.parameters(), lr=1e-3)


def drawn(T, rng):
    """Layers, widths, activations, norms and the optimizer from the generator."""
    nn = T.nn

    class Residual(nn.Module):
        def __init__(self, inside):
            super().__init__()
            self.inside = inside

        def forward(self, x):
            return x + self.inside(x)

    def pick(options):
        return options[rng.integers(len(options))]

    width = int(rng.integers(64, 513))
    batch, classes, layers = int(rng.integers(16, 129)), int(rng.integers(5, 40)), []
    size = (batch, width)
    for _ in range(rng.integers(2, 6)):
        fresh = int(rng.integers(64, 513))
        activation = pick([nn.ReLU, nn.GELU, nn.Tanh, nn.SiLU, nn.Sigmoid, nn.LeakyReLU, nn.ELU, nn.Softplus])
        norm = pick([None, nn.LayerNorm, nn.BatchNorm1d])
        if rng.integers(2):
            layers.append(Residual(nn.Sequential(nn.Linear(width, fresh), activation(), nn.Linear(fresh, width))))
        else:
            layers += [nn.Linear(width, fresh), activation()]
            width = fresh
        if norm:
            layers.append(norm(width))
    layers.append(nn.Linear(width, classes))
    net = nn.Sequential(*layers)
    optimizer = pick([lambda p: T.optim.SGD(p, lr=0.01, momentum=0.9, nesterov=True), lambda p: T.optim.Adam(p, lr=1e-3),
                      lambda p: T.optim.AdamW(p, lr=1e-3), lambda p: T.optim.RMSprop(p, lr=1e-4), lambda p: T.optim.Adagrad(p, lr=1e-3)])
    return net, batches(T, rng, size, classes), optimizer(net.parameters())


NETWORKS = {"MLP 784-512-512-10, batch 64, SGD": mlp, "convnet 28x28, batch 64, SGD": convnet, "transformer block 8x128x256, AdamW": transformer,
            "drawn": drawn}


def batches(T, rng, size, classes):
    made = []
    for _ in range(WARM + ROUNDS * (1 + TIMED)):
        x, y = rng.standard_normal(size).astype(numpy.float32), rng.integers(0, classes, size[0])
        made.append((T.tensor(x), T.tensor(y)))
    return made


def same_weights(ours, theirs, T):
    with T.no_grad():
        for mine, other in zip(ours.parameters(), theirs.parameters()):
            mine.copy_(T.tensor(other.detach().numpy()))


def steps(T, net, data, optimizer):
    """A function that does one step more and returns its loss."""
    left = iter(data)

    def step():
        x, y = next(left)
        optimizer.zero_grad()
        loss = T.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()
    return step


def named(name, seed):
    """The name to show, and the generator of its weights and batches."""
    return (f"drawn at random, seed {seed}", numpy.random.default_rng(seed)) if name == "drawn" else (name, numpy.random.default_rng(0))


def median(times):
    return sorted(times)[len(times) // 2]


# ---- the figures ----

def step_times(braze, against, seed):
    print(f"{'training step, float32':44} {'braze ms':>10} {'torch ms':>10} {'ratio':>7}   compiled after step 3, kernels   (allowed: 0.8x)")
    for name, make in NETWORKS.items():
        libraries = [braze] + ([against] if against else [])
        made = [make(T, named(name, seed)[1]) for T in libraries]
        if against:
            same_weights(made[0][0], made[1][0], braze)
        runs = [steps(T, *parts) for T, parts in zip(libraries, made)]
        for number in range(WARM):
            with braze.explain(kinds="flush") as notes:
                losses = [run() for run in runs]
            assert numpy.allclose(losses, losses[0], rtol=1e-3), (name, number, losses)
            if number == 2:
                compiled = braze._braze.statistics()["compilations"]
        times = [[] for _ in runs]
        for _ in range(ROUNDS):
            for run, taken in zip(runs, times):
                time.sleep(0.05)
                run()
                for _ in range(TIMED):
                    start = time.perf_counter()
                    run()
                    taken.append(time.perf_counter() - start)
        compiled = braze._braze.statistics()["compilations"] - compiled
        kernels = sum(int(n) for n in re.findall(r"(\d+) kernels", notes.text))
        medians = [median(t) * 1e3 for t in times]
        theirs = f"{medians[1]:10.3f} {medians[0] / medians[1]:6.2f}x" if against else ""
        allowed = "   (allowed: 12)" if make is mlp else ""
        print(f"{named(name, seed)[0]:44} {medians[0]:10.3f} {theirs}   {compiled}, {kernels} kernels{allowed}", flush=True)


def compiled_steps(braze, _, seed):
    """A step, and the same by braze.compile, which records it once: the losses and parameters are the same bits. Nothing is read of a step but
    that it has run, so that the difference is what recording costs."""
    print(f"\n{'training step by braze.compile':44} {'step ms':>10} {'compiled':>10} {'ratio':>7} {'ops recorded a step':>20}")

    def narrow(T, rng):
        net = T.nn.Sequential(T.nn.Linear(20, 32), T.nn.ReLU(), T.nn.Linear(32, 5))
        return net, batches(T, rng, (16, 20), 5), T.optim.SGD(net.parameters(), lr=0.05)

    for name, make in (NETWORKS | {"MLP 20-32-5, batch 16, SGD": narrow}).items():
        runs, nets = [], []
        for compiled in (False, True):
            braze.manual_seed(0)
            net, data, optimizer = make(braze, named(name, seed)[1])
            nets.append(net)

            def step(x, y, net=net, optimizer=optimizer):
                optimizer.zero_grad()
                loss = braze.nn.functional.cross_entropy(net(x), y)
                loss.backward()
                optimizer.step()
                return loss
            runs.append((braze.compile(step) if compiled else step, iter(data)))
        for _ in range(WARM):
            losses = [run(*next(data)).item() for run, data in runs]
            assert losses[0] == losses[1], (name, losses)
        times, recorded = ([], []), [0, 0]
        for _ in range(ROUNDS):
            for i, (run, data) in enumerate(runs):
                time.sleep(0.05)
                run(*next(data))
                for _ in range(TIMED):
                    batch = next(data)
                    before = braze._braze.statistics()["recorded"]
                    start = time.perf_counter()
                    run(*batch)
                    times[i].append(time.perf_counter() - start)
                    recorded[i] = braze._braze.statistics()["recorded"] - before
        for mine, other in zip(*(net.parameters() for net in nets)):
            assert mine.equal(other), name
        plain, compiled = (median(t) * 1e3 for t in times)
        print(f"{named(name, seed)[0]:44} {plain:10.3f} {compiled:10.3f} {compiled / plain:6.2f}x {recorded[0]:12} to {recorded[1]:4}", flush=True)


def resident_mb():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 1e6


def peak_mb():
    with open("/proc/self/status", encoding="ascii") as file:
        return int(re.search(r"VmHWM:\s+(\d+) kB", file.read())[1]) * 1024 / 1e6


def torch_peak(torch, step):
    """What PyTorch's allocator holds at most in a step, beyond what it held before: the profiler lists each allocation."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        step()
    held = peak = 0
    for event in profile.profiler.kineto_results.events():
        if event.name() == "[memory]":
            held += event.nbytes()
            peak = max(peak, held)
    return peak / 1e6


def measure_memory(library, name, seed):
    """In a process of its own: the most that it has in memory once steps have run, what of it came after the library was imported and the
    network made (the first steps' compiling and the pages of code that they touch included), and what a step takes of the allocator."""
    T = __import__(library)
    made = NETWORKS[name](T, named(name, seed)[1])
    step = steps(T, *made)
    before = resident_mb()
    for _ in range(WARM):
        step()
    if library == "braze":
        live = T._braze.memory_statistics()["live"]
        T._braze.reset_memory_peak()
        step()
        peak = (T._braze.memory_statistics()["peak"] - live) / 1e6
        highest = peak_mb()
    else:
        for _ in range(2):
            step()
        highest = peak_mb()
        peak = torch_peak(T, step)
    print(json.dumps({"allocator": peak, "resident": highest, "growth": highest - before}))


def memory(braze, against, seed):
    """A step's memory, in processes of their own."""
    print(f"\n{'peak memory of steps, MB':44} {'allocator':>10} {'torch':>10} {'ratio':>7} {'RSS':>10} {'torch':>10} {'ratio':>7} "
          f"{'steps add':>10} {'torch':>10} {'ratio':>7}   (allowed: 1x)")
    for name in NETWORKS:
        found = {}
        for library in ["braze"] + ([against.__name__] if against else []):
            threads = {"OMP_NUM_THREADS": str(braze.get_num_threads()), "BRAZE_NUM_THREADS": str(braze.get_num_threads())}
            done = subprocess.run([sys.executable, __file__, "--memory-of", library, "--network", name, "--seed", str(seed)],
                                  env=os.environ | threads, stdout=subprocess.PIPE, text=True, check=True)
            found[library] = json.loads(done.stdout)
        text = f"{named(name, seed)[0]:44}"
        for kind in ("allocator", "resident", "growth"):
            ours = found["braze"][kind]
            text += f" {ours:10.1f}"
            if against:
                theirs = found[against.__name__][kind]
                text += f" {theirs:10.1f} {ours / theirs:6.2f}x"
        print(text, flush=True)


def adam(braze, against, _):
    """Adam's update of 10M parameters beside moving its bytes once: parameter, gradient and both means read, all but the gradient written."""
    count = 10_000_000
    rng = numpy.random.default_rng(0)
    start, slope = (rng.standard_normal(count).astype(numpy.float32) for _ in range(2))
    libraries = [braze] + ([against] if against else [])
    updates, params = [], []
    for T in libraries:
        param = T.nn.Parameter(T.tensor(start))
        param.grad = T.tensor(slope)
        optimizer = T.optim.Adam([param], lr=1e-3)
        updates.append(optimizer.step)
        params.append(param)
    for _ in range(3):
        with braze.explain(kinds="flush") as notes:
            for update in updates:
                update()
    if against:
        assert numpy.allclose(params[0].detach().numpy(), params[1].detach().numpy(), rtol=1e-4, atol=1e-6)
    # As many bytes, by one kernel that does nothing else: four tensors are read and three written, in place.
    a, b, c, d = (braze.tensor(start) for _ in range(4))

    def move():
        for x in (a, b, c):
            x.add_(d)
        braze.eval((a, b, c))
    move()
    with braze.explain(kinds="flush") as moving:
        move()
    assert moving.text.endswith(" 1 kernels"), moving.text
    times = [[] for _ in range(len(updates) + 1)]
    for _ in range(5):
        for body, taken in zip(updates + [move], times):
            time.sleep(0.05)
            body()
            for _ in range(3):
                begin = time.perf_counter()
                body()
                taken.append(time.perf_counter() - begin)
    medians = [median(t) * 1e3 for t in times]
    kernels = sum(int(n) for n in re.findall(r"(\d+) kernels", notes.text))
    theirs = f", PyTorch {medians[1]:.2f} ms" if against else ""
    print(f"\nAdam update of 10M parameters: {kernels} kernel (allowed: 1), {medians[0]:.2f} ms; moving its bytes once {medians[-1]:.2f} ms: "
          f"{medians[0] / medians[-1]:.2f}x (allowed: 1.15x){theirs}")


def derivative(braze, against, _):
    """Recording the backward pass of a chain of 10,000 ops, nothing evaluated."""
    os.environ.setdefault("BRAZE_LIMIT_HEIGHT", "20000")
    best = []
    for T in [braze] + ([against] if against else []):
        times = []
        for _ in range(7):
            x = T.ones(16, requires_grad=True)
            y = x
            for i in range(5000):
                y = T.sin(y) if i % 2 else T.tanh(y)
                y = y * x
            total = y.sum()
            start = time.perf_counter()
            total.backward()
            times.append(time.perf_counter() - start)
            x.grad.tolist()
        best.append(median(times) * 1e3)
    theirs = f", PyTorch, which computes it, {best[1]:.1f} ms" if against else ""
    print(f"\nderivative of a chain of 10,000 ops: {best[0]:.1f} ms to build (allowed: 100 ms){theirs}")


def loader(braze, against, _):
    """A dataset that sleeps 5 ms an item, alone and with four workers."""
    from_time = []
    for workers in (0, 4):
        class Slow(braze.utils.data.Dataset):
            def __len__(self):
                return 200

            def __getitem__(self, index):
                time.sleep(0.005)
                return braze.full((16,), float(index))

        seen = []
        start = time.perf_counter()
        for batch in braze.utils.data.DataLoader(Slow(), batch_size=8, num_workers=workers):
            seen += batch[:, 0].tolist()
        from_time.append(time.perf_counter() - start)
        assert seen == list(range(200)), seen
    print(f"\nDataLoader, 200 items that sleep 5 ms: {from_time[0]:.2f} s, with 4 workers {from_time[1]:.2f} s: {from_time[0] / from_time[1]:.2f}x faster "
          "(allowed: 3x)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", choices=["torch"])
    parser.add_argument("--only", default="steps,compiled,memory,adam,derivative,loader")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3), "little"))
    parser.add_argument("--memory-of", help=argparse.SUPPRESS)
    parser.add_argument("--network", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.memory_of:
        return measure_memory(arguments.memory_of, arguments.network, arguments.seed)
    import braze
    against = __import__(arguments.against) if arguments.against else None
    threads = int(os.environ.get("BRAZE_NUM_THREADS", os.cpu_count()))
    braze.set_num_threads(threads)
    if against:
        against.set_num_threads(threads)
    parts = {"steps": step_times, "compiled": compiled_steps, "memory": memory, "adam": adam, "derivative": derivative, "loader": loader}
    for name in arguments.only.split(","):
        parts[name](braze, against, arguments.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
