"""A person moves and removes their own waiting reminders by a sentence, and nobody else's."""

from typing import Any

import pytest

from orchestrator.gate.call.params import Refusal
from orchestrator.gate.call.reminders import CANCEL, MOVE, normalize_change

ID = "0123456789abcdef0123456789abcdef"
AT = "2026-11-23T11:00:00+03:00"


def test_whose_reminder_it_is_is_always_the_requesters() -> None:
    """Whatever was written as the person is replaced."""
    made = normalize_change(MOVE, {"reminder": ID, "at": AT, "person": "tg:somebody"}, person="tg:1007", effect_id="e1")
    assert made == {"reminder": ID, "at": "2026-11-23T08:00:00.000000Z", "person": "tg:1007", "ORIGIN_ID": "e1"}
    assert normalize_change(MOVE, made, person="tg:1007", effect_id="e1") == made
    assert normalize_change(CANCEL, {"reminder": ID}, person="tg:1007", effect_id="e1")["person"] == "tg:1007"


@pytest.mark.parametrize(
    ("method", "given"),
    [
        (MOVE, {"reminder": ID}),
        (MOVE, {"reminder": ID, "at": "завтра"}),
        (MOVE, {"at": AT}),
        (CANCEL, {"reminder": "all"}),
        (CANCEL, {"reminder": ID[:8]}),
        (CANCEL, {"reminder": [ID]}),
        (CANCEL, {"reminder": ID, "at": AT}),
    ],
)
def test_anything_but_one_reminder_and_one_moment_is_refused(method: str, given: dict[str, Any]) -> None:
    """Several reminders, a part of an id, a missing or unclear moment."""
    with pytest.raises(Refusal):
        normalize_change(method, given, person="tg:1007", effect_id="e1")
