"""matplotlib takes tensors for arrays: plot, hist, imshow and more, of every dtype that NumPy has, and draws what it draws for arrays."""
import importlib.util

import numpy as np

import braze as T


def axes():
    """Axes of a figure that no screen shows; None without matplotlib."""
    if not importlib.util.find_spec("matplotlib"):
        print("skipped: plotting, for want of matplotlib")
        return None
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib.figure import Figure
    return Figure(figsize=(2, 2), dpi=50).subplots()


def test_plot():
    if axes() is None:
        return
    for name in ("float32", "float64", "float16", "int64", "int32", "uint8", "bool"):
        x, y = T.arange(5), (T.arange(5) % 2).to(getattr(T, name))
        line, = axes().plot(x, y)
        wanted, = axes().plot(x.numpy(), y.numpy())
        assert np.array_equal(line.get_xydata(), wanted.get_xydata()), name
    table = T.arange(6.).reshape(3, 2).t()
    lines = axes().plot(table)
    assert len(lines) == 3 and lines[1].get_ydata().tolist() == [2.0, 3.0]
    line, = axes().plot(T.linspace(0, 1, 7), T.linspace(0, 1, 7) ** 2 * 2)  # what has not been evaluated
    assert np.allclose(line.get_ydata(), np.linspace(0, 1, 7) ** 2 * 2)
    line, = axes().plot([T.tensor(1.), T.tensor(2.)], [T.tensor(3), T.tensor(4)], "o")
    assert np.asarray(line.get_xdata(), dtype=float).tolist() == [1.0, 2.0]


def test_hist():
    if axes() is None:
        return
    T.manual_seed(0)
    x = T.randn(1000)
    counts, edges, _ = axes().hist(x, bins=20)
    wanted, wanted_edges, _ = axes().hist(x.numpy(), bins=20)
    assert counts.tolist() == wanted.tolist() and edges.tolist() == wanted_edges.tolist() and counts.sum() == 1000
    counts, edges, _ = axes().hist(T.randint(0, 9, (200,)), bins=T.arange(10))
    assert counts.sum() == 200 and edges.tolist() == list(range(10))
    counts, *_ = axes().hist([T.rand(30), T.rand(20)], bins=4)
    assert [c.sum() for c in counts] == [30, 20]


def test_imshow():
    if axes() is None:
        return
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    for x in (T.rand(8, 9), T.rand(8, 9, 3), T.arange(72, dtype=T.uint8).reshape(8, 9), T.rand(3, 8, 9).permute(1, 2, 0), T.rand(8, 9) > 0.5,
              T.rand(8, 9, dtype=T.float64)[::2]):
        image = axes().imshow(x, cmap="gray")
        wanted = axes().imshow(x.numpy(), cmap="gray")
        assert np.array_equal(np.asarray(image.get_array()), np.asarray(wanted.get_array()))
        drawn = []
        for picture in (image, wanted):
            canvas = FigureCanvasAgg(picture.figure)
            canvas.draw()
            drawn.append(bytes(canvas.buffer_rgba()))
        assert drawn[0] == drawn[1] and len(set(drawn[0])) > 2


def test_other_plots():
    if axes() is None:
        return
    x, y = T.arange(4.), T.tensor([3., 1., 2., 5.])
    assert axes().scatter(x, y, s=y * 4, c=y).get_offsets().tolist() == [[0.0, 3.0], [1.0, 1.0], [2.0, 2.0], [3.0, 5.0]]
    assert [b.get_height() for b in axes().bar(x, y)] == y.tolist()
    axes().fill_between(x, y - 1, y + 1)
    axes().errorbar(x, y, yerr=y / 10)
    axes().contourf(*T.meshgrid(x, y, indexing="xy"), T.rand(4, 4))
    a = axes()
    a.plot(x, y)
    a.set_xlim(x.min(), x.max())
    assert a.get_xlim() == (0.0, 3.0)
