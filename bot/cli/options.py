"""`--help` passes here: nothing slow is imported."""

from typing import Literal

Language = Literal["ru", "en"]
AS_JSON = "One JSON object a line instead of a table."
