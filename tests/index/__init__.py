"""Tests of `index/`."""
