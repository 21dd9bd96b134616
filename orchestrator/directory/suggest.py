""" "Did you mean": known field names near a written one, by code in either spelling or by title. Ring 2, pure; decides nothing."""

from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import Final

from bitrix import names
from orchestrator.directory.text import normalize_text

_NEAR_ENOUGH: Final = 0.72
_LONGEST: Final = 80


def find_similar_codes(name: str, known: Mapping[str, str], *, most: int = 3) -> tuple[str, ...]:
    """The codes of `known` (code → title, which may be empty) that `name` may have meant, the nearest first; none is usual.

    `opportunity` and `Opportunity` mean OPPORTUNITY, «Номер договора» the code of that title, and OPORTUNITY is near enough.
    """
    written = name[:_LONGEST]
    worth = {code: max(_compare_codes(written, code), _compare_titles(written, title)) for code, title in known.items()}
    near = [code for code, value in worth.items() if value >= _NEAR_ENOUGH]
    return tuple(sorted(near, key=lambda code: (-worth[code], code))[:most])


def _compare_codes(written: str, code: str) -> float:
    return _measure_likeness(names.to_field_key(written), names.to_field_key(code[:_LONGEST]))


def _compare_titles(written: str, title: str) -> float:
    return _measure_likeness(normalize_text(written), normalize_text(title[:_LONGEST])) if title else 0.0


def _measure_likeness(left: str, right: str) -> float:
    if not left or not right:
        return 0.0
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    # The cheap bounds first: a portal may have a thousand fields.
    if matcher.real_quick_ratio() < _NEAR_ENOUGH or matcher.quick_ratio() < _NEAR_ENOUGH:
        return 0.0
    return matcher.ratio()
