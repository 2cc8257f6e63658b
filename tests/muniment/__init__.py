"""Tests of `muniment/`."""
