"""Pictures for the documentation; `python -m tests.pictures`. Its world is that of the end-to-end tests."""
