"""Tests of the sample catalog that ships with the project."""
