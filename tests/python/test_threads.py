"""Python's threads and signals beside the engine: what import starts, who runs meanwhile, how soon Ctrl-C is answered."""
import os
import random
import subprocess
import sys
import threading
import time

import braze as T


def slowness():
    """How much longer than alone things take on this machine now: the load for each core, at least 1."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1) * 2)


def test_import_is_quick_and_starts_no_thread():
    # Processor time: on a busy machine the clock tells of the others.
    code = ("import time, sys; t = time.process_time(); import braze; took = time.process_time() - t; import os;"
            "print(took, len(os.listdir('/proc/self/task')), 'numpy' in sys.modules)")
    runs = [subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout.split() for _ in range(3)]
    print(f"import braze: {min(float(r[0]) for r in runs):.3f} s of processor time")
    assert min(float(r[0]) for r in runs) < 0.15, runs
    assert all(r[1] == "1" and r[2] == "False" for r in runs), runs


def meanwhile(function):
    """How often another Python thread got its turn while function() ran, and how long that took."""
    ticks, begun, done = [], threading.Event(), threading.Event()

    def tick():
        begun.set()
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)
    thread = threading.Thread(target=tick)
    thread.start()
    begun.wait()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)  # nobody is asked to let go of the GIL: a turn is had only where it is given away
    try:
        start = time.perf_counter()
        function()
        end = time.perf_counter()
    finally:
        sys.setswitchinterval(interval)
        done.set()
        thread.join()
    return sum(start < t < end for t in ticks), end - start


def fresh_graph(ops):
    """A value that no cache knows."""
    draw = random.Random()
    x = T.rand(7, 5)
    for _ in range(ops):
        x = draw.choice((T.sin, T.tanh, T.sigmoid, lambda v: v * draw.random(), lambda v: v + v.sum(0), lambda v: v.cumsum(1)))(x)
    return x


def test_threads_run_while_an_evaluation_does():
    x = T.ones(1500, 1500)
    y = x @ x @ x @ x
    turns, took = meanwhile(lambda: y.sum().item())
    assert took < 0.02 or turns >= 3, (turns, took)


def test_threads_run_while_something_is_compiled():
    x = fresh_graph(60)
    before = T._braze.statistics()["compilations"]
    turns, took = meanwhile(lambda: x.sum().item())
    assert T._braze.statistics()["compilations"] == before + 1
    assert took < 0.02 or turns >= 3, (turns, took)


def test_many_threads_evaluate_at_once():
    shared = fresh_graph(10)
    results, wrong = [], []

    def work(number):
        try:
            own = T.full((50, 50), float(number))
            for _ in range(20):
                own = own + 1
                assert own.sum().item() == 2500 * (number + _ + 1)
            results.append(shared.tolist())
        except Exception as e:
            wrong.append(e)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and len(results) == 8 and all(r == results[0] for r in results), wrong


def interrupted(setup, seconds):
    """Ctrl-C so many seconds into y.sum().item(): how long the answer took; then the engine still computes."""
    code = f"""
import os, signal, threading, time, random, braze as T
x = T.rand(300, 300)
(x[:100, :100] @ x[:100, :100]).sum().item()
{setup}
def interrupt():
    time.sleep({seconds})
    global at
    at = time.perf_counter()
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    y.sum().item()
    print("finished")
except KeyboardInterrupt:
    print("interrupted", time.perf_counter() - at)
print((x[0] * 0 + 1).sum().item())
"""
    out = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300).stdout.split()
    assert out[0] == "interrupted" and out[2] == "300.0", out
    print(f"Ctrl-C answered after {float(out[1]) * 1000:.1f} ms")
    assert float(out[1]) < 0.1 * slowness(), out


def test_interrupt_stops_products():
    interrupted("""
y = x = T.ones(2000, 2000)
for _ in range(60):
    y = y @ x * 1e-4
x = x[:, :300]
""", 0.5)


def test_interrupt_is_answered_where_its_handler_was_set_anew():
    """Which takes away the engine's own."""
    interrupted("""
signal.signal(signal.SIGINT, signal.default_int_handler)
y = x = T.ones(2000, 2000)
for _ in range(60):
    y = y @ x * 1e-4
x = x[:, :300]
""", 0.5)


def test_interrupt_stops_a_compilation():
    interrupted("""
y = x
ops = [T.sin, T.tanh, T.sigmoid, lambda v: v * random.random(), lambda v: v + v.sum(0), lambda v: v.cumsum(1), lambda v: v @ x]
for _ in range(1500):
    y = random.choice(ops)(y)
""", 0.1)


def test_interrupt_stops_a_sort():
    interrupted("big = T.rand(15_000_000); big[0].item(); y = big.sort().values", 0.1)


def test_interrupt_stops_a_sort_that_begins():
    """While it still gets its memory, of which it needs hundreds of megabytes."""
    interrupted("big = T.rand(40_000_000); big[0].item(); y = big.sort().values", 0.02)


def test_interrupt_stops_a_sort_along_the_first_dim():
    interrupted("big = T.rand(1000, 20_000); big[0, 0].item(); y = big.sort(0).values", 0.02)


def test_interrupt_leaves_lapack_behind():
    interrupted("y = T.linalg.svdvals(T.rand(1500, 1500).double())", 0.4)
    interrupted("y = T.linalg.inv(T.rand(3000, 3000).double())", 0.3)


def test_interrupt_stops_draws():
    interrupted("y = T.randn(100_000_000)", 0.1)
