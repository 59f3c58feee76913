"""The functional interface."""
