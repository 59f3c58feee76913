"""What the tests of the Python module share."""


def error(function, *args, **kwargs):
    """The name of the class that the call raises, and its text."""
    try:
        function(*args, **kwargs)
    except Exception as e:
        return type(e).__name__, str(e)
    raise AssertionError("nothing was raised")


def raises(kind, function, *args, **kwargs):
    """The text of the exception, of class `kind`, that the call raises."""
    try:
        function(*args, **kwargs)
    except kind as e:
        return str(e)
    raise AssertionError("nothing was raised")
