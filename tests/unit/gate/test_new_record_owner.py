"""Whose a new record is, when the request names a colleague or somebody with the first name of one."""

from pathlib import Path

import pytest

from orchestrator.domain.effect import MessageFacts, Pending, Provenance
from tests.unit.gate.sandbox_kit import a_desk
from tests.unit.spine_kit import VERA, effect


@pytest.mark.parametrize(
    ("text", "reasons"),
    [("создай лид Насосы: Борис Седов, ждёт счёт", []), ("создай лид Насосы на Бориса", ["gate-leaves-out"])],
)
async def test_only_a_colleague_that_is_named_is_missed_in_a_new_record(text: str, reasons: list[str], tmp_path: Path) -> None:
    """A customer may have a colleague's first name."""
    async with a_desk(tmp_path) as desk:
        ordered = Provenance(message=MessageFacts(orders=1, is_plain=True), person_text=text)
        made = await desk.world.submit(
            desk.session, effect("crm.lead.add", {"fields": {"TITLE": "Насосы"}}, provenance=ordered), actor=VERA
        )
        found = [str(reason["code"]) for reason in desk.card(made).reasons] if isinstance(made, Pending) else []
        assert found == reasons
