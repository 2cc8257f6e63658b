"""Tests of `eval/proof/`: the proof on a catalog of one's own."""
