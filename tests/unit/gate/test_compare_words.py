"""A card about a record of a set says how the record fits the words of the request; one that is named is not compared."""

from typing import Any

from orchestrator.domain.effect import MessageFacts, Provenance
from orchestrator.language.title_matching import is_mentioned
from tests.unit.gate.sandbox_kit import Desk
from tests.unit.spine_kit import VERA, effect


async def _reasons(desk: Desk, text: str, fields: dict[str, Any], *, named: bool = False) -> dict[str, dict[str, Any]]:
    desk.count += 1
    targets = frozenset({"deal:410"}) if named else frozenset()
    provenance = Provenance(message=MessageFacts(orders=1, is_plain=True), targets=targets, person_text=text)
    what = effect("crm.deal.update", {"id": 410, "fields": fields}, slot=f"t1/1/{desk.count}", provenance=provenance)
    found = await desk.world.submit(desk.session, what, actor=VERA)
    return {reason.code: dict(reason.args) for reason in found.reasons}


async def test_owner_stage_and_options_that_the_request_names_are_compared(desk: Desk) -> None:
    """«все сделки Веры …» and a deal that fits, or not; what the call itself writes is no condition."""
    deal = await desk.ask("crm.deal.get", id=410)
    users = await desk.world.gate.deps.records.reference.load_users()
    stages = {one.id: one.name for one in await desk.world.gate.deps.records.reference.load_stages("deal", int(deal["CATEGORY_ID"]))}
    own = users[int(deal["ASSIGNED_BY_ID"])].full_name
    other = next(user.full_name for number, user in sorted(users.items()) if user.full_name not in {own, ""} and number != 8)
    said = await _reasons(desk, f"подними суммы всех сделок, где ответственный {own}", {"OPPORTUNITY": 1_200_000})
    assert (said["gate-compared"]["fits"], said["gate-compared"]["missed"]) == (own, 0)
    stage = next(name for code, name in stages.items() if code != deal["STAGE_ID"] and is_mentioned(name, f"на стадии «{name}»"))
    text = f"подними суммы всех сделок, где ответственный {other}, на стадии «{stage}»"
    said = await _reasons(desk, text, {"OPPORTUNITY": 1_300_000})
    assert (said["gate-compared"]["fits"], said["gate-compared"]["missed"]) == ("none", 2)
    assert own in said["gate-compared"]["differs"]
    assert stages[deal["STAGE_ID"]] in said["gate-compared"]["differs"]


async def test_a_named_record_and_a_request_without_conditions_are_not_compared(desk: Desk) -> None:
    users = await desk.world.gate.deps.records.reference.load_users()
    text = f"подними сумму 410, ответственный {users[7].full_name}"
    assert "gate-compared" not in await _reasons(desk, text, {"OPPORTUNITY": 1_200_000}, named=True)
    assert "gate-compared" not in await _reasons(desk, "подними сумму", {"OPPORTUNITY": 1_300_000})
