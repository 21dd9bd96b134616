"""Phone numbers as people write them; every digit stays where it is. Ring 2, pure."""

import re
from typing import Final

_PHONE: Final = re.compile(r"\+?[0-9 ()\u00a0.-]+")
_RUSSIAN: Final = re.compile(r"(\+7|8)([0-9]{3})([0-9]{3})([0-9]{2})([0-9]{2})")
_NO_PREFIX: Final = re.compile(r"7([3489][0-9]{9})")


def format_phone(value: str) -> str:
    """«+7 901 123-45-67», also of «79011234567»; a number of another form, or with words beside it, stays as it is written."""
    if not _PHONE.fullmatch(value):
        return value
    digits = ("+" if value.lstrip().startswith("+") else "") + re.sub(r"[^0-9]", "", value)
    found = _RUSSIAN.fullmatch(_NO_PREFIX.sub(r"+7\1", digits) if _NO_PREFIX.fullmatch(digits) else digits)
    if found is None:
        return value
    head, code, first, second, third = found.groups()
    return f"{head} {code} {first}-{second}-{third}"
