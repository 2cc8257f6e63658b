"""Tests of `server/`."""
