"""Tests of `models/`."""
