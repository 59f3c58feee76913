"""A curve as a picture, for the examples."""
import matplotlib

matplotlib.use("Agg")  # files only: no window is needed

from matplotlib import pyplot


def save(path, curves, xlabel="step", ylabel="loss", log=False):
    """Draws {label: values, or (places, values)} into the file `path`."""
    figure, axes = pyplot.subplots(figsize=(7, 4.2), layout="constrained")
    for label, values in curves.items():
        places, values = values if isinstance(values, tuple) else (range(1, len(values) + 1), values)
        axes.plot(places, values, label=label, linewidth=1.4)
    axes.set(xlabel=xlabel, ylabel=ylabel, yscale="log" if log else "linear")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
