"""The approvals' tests use the spine's world, which lives beside the unit tests."""

from tests.regression.approvals.approvals_kit import house  # noqa: F401 - a fixture; the path above must be there first
