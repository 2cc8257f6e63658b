"""Tests of `evidence/`."""
