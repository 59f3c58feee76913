"""Names that PyTorch has and Braze has not: an AttributeError that says where to look."""


def absent(module):
    """A module's __getattr__."""
    def __getattr__(name):
        place = "" if name.startswith("__") else "; docs/coverage.md lists what of PyTorch is there"
        raise AttributeError(f"module '{module}' has no attribute '{name}'{place}")
    return __getattr__
