"""Numbers, alike for JSON and YAML; what two programs could read differently is refused."""

import math
import re
from typing import Final

from orchestrator.documents.reports import MAX_SAFE, AnyPath, Reports

JSON_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_MOST_DIGITS: Final = 400


def read_number(text: str, offset: int, path: AnyPath, reports: Reports) -> int | float:
    """0 if it is too large, which is reported."""
    if len(text) > _MOST_DIGITS:
        reports.report("finding-number-large", offset, path, number=text)
        return 0
    if text.lstrip("-").isdigit():
        number = int(text)
        if abs(number) <= MAX_SAFE:
            return number
        reports.report("finding-number-large", offset, path, number=text, suggestion=f'"{text}"' if len(text) < 100 else "")  # noqa: PLR2004
        return 0
    value = float(text)
    if math.isfinite(value):
        return value
    reports.report("finding-number-not-finite", offset, path, number=text)
    return 0
