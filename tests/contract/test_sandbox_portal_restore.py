"""The sandbox portal puts single records back, for scenes of the demo: their values, and that their names are theirs alone."""

from tests.contract.sandbox_portal_kit import Caller, in_process


async def _restore(portal: Caller, *ids: int) -> list[int]:
    answer = await portal.http.post("/sandbox/restore", json={"entity": "deal", "ids": list(ids)})
    assert answer.status_code == 200, answer.text
    return list(answer.json()["changed"])


async def _deal(portal: Caller, number: int) -> dict[str, object]:
    return dict((await portal.http.get(f"/sandbox/records/deal/{number}")).json())


async def test_a_changed_and_a_deleted_deal_come_back_and_others_stay() -> None:
    """Sum, stage and owner as seeded; what nobody asked for keeps its change; whole records are not touched."""
    async with in_process() as portal:
        fresh = await _deal(portal, 481)
        fields = {"OPPORTUNITY": 5, "STAGE_ID": "WON", "ASSIGNED_BY_ID": 8, "COMMENTS": "x"}
        await portal.result("crm.deal.update", {"id": 481, "fields": fields})
        await portal.result("crm.deal.update", {"id": 410, "fields": {"OPPORTUNITY": 7}})
        await portal.result("crm.deal.delete", {"id": 423})
        changed = await _restore(portal, 481, 423, 412)
        again = await _restore(portal, 481, 423, 412)
        deal, back, other = await _deal(portal, 481), await _deal(portal, 423), await _deal(portal, 410)

    assert (sorted(changed), again) == ([423, 481], [])
    assert {name: deal[name] for name in ("TITLE", *fields)} == {name: fresh[name] for name in ("TITLE", *fields)}
    assert back["TITLE"] == "Северный ветер"
    assert deal["MODIFY_BY_ID"] == deal["ASSIGNED_BY_ID"], "the responsible person is not told of it as of somebody else's change"
    assert float(str(other["OPPORTUNITY"])) == 7


async def test_a_name_is_that_deals_alone_again() -> None:
    """A deal of that name that somebody made is gone, and one renamed to it has its own name again."""
    async with in_process() as portal:
        made = await portal.result("crm.deal.add", {"fields": {"TITLE": "Ромашка 2"}})
        await portal.result("crm.deal.update", {"id": 410, "fields": {"TITLE": "ромашка"}})
        changed = await _restore(portal, 481)
        titles = [row["TITLE"] for row in (await portal.http.get("/sandbox/records/deal")).json()]

    assert sorted(changed) == [410, made]
    assert [title for title in titles if "ромашка" in title.casefold()] == ["Ромашка"]


async def test_what_was_never_seeded_is_refused() -> None:
    async with in_process() as portal:
        answer = await portal.http.post("/sandbox/restore", json={"entity": "deal", "ids": [999_999]})
    assert (answer.status_code, answer.json()["details"]) == (400, "not seeded: deal 999999")
