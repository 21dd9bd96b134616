"""Tests of the definitions that people write."""
