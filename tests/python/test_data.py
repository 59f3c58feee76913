"""utils.data: what the recorded cases cannot say of worker threads."""
import gc
import threading
import time

import braze as T
import braze.utils.data as D


class Slow(D.Dataset):
    def __init__(self, n=120, pause=0.005, bad=None):
        self.n, self.pause, self.bad = n, pause, bad

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        time.sleep(self.pause)
        if i == self.bad:
            raise KeyError("item", i)
        return i


class Stream(D.IterableDataset):
    def __iter__(self):
        info = D.get_worker_info()
        return iter(range(10)) if info is None else iter(range(info.id, 10, info.num_workers))


def workers():
    return [t for t in threading.enumerate() if t.name.startswith("DataLoader worker")]


def batches(loader):
    return [b.tolist() for b in loader]


def seconds(run):
    start = time.perf_counter()
    result = run()
    return result, time.perf_counter() - start


def test_workers_are_faster_and_keep_the_order():
    # The quickest of some runs of each, by turns: a busy machine slows single runs, and more of those with many threads.
    slow = fast = float("inf")
    for _ in range(6):
        alone, took = seconds(lambda: batches(D.DataLoader(Slow(), batch_size=5)))
        slow = min(slow, took)
        together, took = seconds(lambda: batches(D.DataLoader(Slow(), batch_size=5, num_workers=4)))
        fast = min(fast, took)
        assert alone == together == [list(range(i, i + 5)) for i in range(0, 120, 5)]
        if slow > 3.5 * fast:
            break
    assert slow > 3 * fast, f"4 workers take {fast:.3f} s where one takes {slow:.3f} s"
    assert not workers()


def test_shuffling_is_the_same_with_workers():
    orders = []
    for count in (0, 3):
        T.manual_seed(5)
        orders.append((batches(D.DataLoader(Slow(pause=0), batch_size=7, shuffle=True, num_workers=count)), T.rand(2).tolist()))
    assert orders[0] == orders[1]


def test_an_abandoned_loader_leaves_no_thread():
    for _ in D.DataLoader(Slow(), batch_size=5, num_workers=4):
        assert len(workers()) == 4
        break
    gc.collect()
    assert not workers()

    def fails():
        for _ in D.DataLoader(Slow(), batch_size=5, num_workers=2):
            raise ValueError
    try:
        fails()
    except ValueError:
        pass
    gc.collect()
    assert not workers()


def test_an_exception_is_raised_where_its_batch_stands():
    iterator = iter(D.DataLoader(Slow(30, 0, bad=12), batch_size=5, num_workers=3))
    assert next(iterator).tolist() == [0, 1, 2, 3, 4] and next(iterator).tolist() == [5, 6, 7, 8, 9]
    try:
        next(iterator)
        raise AssertionError("no exception")
    except KeyError as error:
        assert str(error).startswith("Caught KeyError in DataLoader worker process 2.\nOriginal Traceback"), error
        assert error.__cause__.args == ("item", 12)
        frames, names = error.__traceback__, []
        while frames:
            names.append(frames.tb_frame.f_code.co_name)
            frames = frames.tb_next
        assert names[-1] == "__getitem__", names
    assert next(iterator).tolist() == [15, 16, 17, 18, 19]


def test_persistent_workers_stay():
    loader = D.DataLoader(Slow(20, 0), batch_size=5, num_workers=2, persistent_workers=True)
    first = batches(loader), set(t.ident for t in workers())
    second = batches(loader), set(t.ident for t in workers())
    assert first == second and len(first[1]) == 2
    next(iter(loader))
    assert batches(loader) == first[0]
    del loader
    gc.collect()
    assert not workers()


def test_worker_info_splits_a_stream():
    assert D.get_worker_info() is None
    assert sorted(sum(batches(D.DataLoader(Stream(), batch_size=2, num_workers=3)), [])) == list(range(10))
    seen = []
    list(D.DataLoader(Slow(8, 0), num_workers=2, worker_init_fn=lambda i: seen.append((i, D.get_worker_info().num_workers))))
    assert sorted(seen) == [(0, 2), (1, 2)]


def test_a_timeout_is_an_error():
    iterator = iter(D.DataLoader(Slow(4, 0.5), batch_size=2, num_workers=1, timeout=0.05))
    try:
        next(iterator)
        raise AssertionError("no error")
    except RuntimeError as error:
        assert "timed out" in str(error)


def test_settings_are_fixed():
    loader = D.DataLoader(Slow(4, 0))
    try:
        loader.batch_size = 3
        raise AssertionError("no error")
    except ValueError as error:
        assert "batch_size attribute should not be set" in str(error)


def test_settings_that_need_workers():
    for kind, text, options in ((AssertionError, "prefetch_factor must be greater than 0", dict(num_workers=1, prefetch_factor=0)),
                                (AssertionError, "requires timeout == 0", dict(timeout=1)),
                                (ValueError, "multi-process loading", dict(multiprocessing_context="fork"))):
        try:
            batches(D.DataLoader([1, 2], **options))
        except kind as e:
            assert text in str(e), e
        else:
            raise AssertionError(f"{options} were taken")
