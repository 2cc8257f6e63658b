"""Tests of `server/compatible/`."""
