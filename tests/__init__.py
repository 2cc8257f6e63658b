"""Tests, one folder for each package, mirroring its modules."""
