"""Finding where a gradient became NaN or infinite. https://pytorch.org/docs/stable/autograd.html#anomaly-detection"""
from .. import _braze


class set_detect_anomaly:
    """While it is on, backward() raises at the first gradient that is NaN or infinite, naming the op and its line."""

    def __init__(self, mode, check_nan=True):
        self._before = _braze.is_anomaly_enabled()
        _braze.set_detect_anomaly(mode, check_nan)

    def __enter__(self):
        return None

    def __exit__(self, *_):
        _braze.set_detect_anomaly(self._before, True)


class detect_anomaly:
    """set_detect_anomaly(True) as a context."""

    def __init__(self, check_nan=True):
        self._check_nan = check_nan

    def __enter__(self):
        self._before = _braze.is_anomaly_enabled()
        _braze.set_detect_anomaly(True, self._check_nan)

    def __exit__(self, *_):
        _braze.set_detect_anomaly(self._before, True)
