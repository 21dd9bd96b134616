"""What options of several commands share. `--help` passes here: nothing that takes long to load is imported."""

from typing import Literal

Language = Literal["ru", "en"]
"""The languages in which commands speak; an option of this type refuses all others."""
AS_JSON = "One JSON object a line instead of a table."
