"""torch.serialization. https://pytorch.org/docs/stable/notes/serialization.html"""
from ._absent import absent
from ._serialization import _added_globals, add_safe_globals, load, save

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]
__getattr__ = absent(__name__)


def get_safe_globals() -> list:
    """What add_safe_globals has allowed."""
    return list(_added_globals.values())


def clear_safe_globals() -> None:
    """Forgets what add_safe_globals has allowed."""
    _added_globals.clear()


class safe_globals:
    """Globals that load may meet while this context lives."""

    def __init__(self, safe_globals):
        self._globals = safe_globals

    def __enter__(self):
        self._before = dict(_added_globals)
        add_safe_globals(self._globals)

    def __exit__(self, *_):
        _added_globals.clear()
        _added_globals.update(self._before)
