"""Tests of eval/bench."""
