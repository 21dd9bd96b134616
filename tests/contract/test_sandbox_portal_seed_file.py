"""A seed file gives a portal records and custom fields of its own, and another portal does not have them afterwards."""

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from sandbox.portal.schema import LEAD
from sandbox.portal.seed_file import read_seed
from tests.contract.sandbox_portal_kit import in_process

INTEREST = {"kind": "lead", "name": "UF_CRM_INTEREST", "type": "enumeration", "title": "Интерес", "choices": {"101": "Станки"}}
CALLED = {"kind": "lead", "name": "UF_CRM_CALLED", "type": "date", "title": "Звонили"}
LEADS = [{"ID": 1000, "TITLE": "Зарубин", "UF_CRM_INTEREST": 101, "UF_CRM_CALLED": "2026-11-02", "PHONE": ["+7 916 000-00-00"]}]


async def test_own_fields_and_records_stand_in_place_of_those_of_a_kind(tmp_path: Path) -> None:
    path = tmp_path / "seed.json"
    users = [{"ID": 7, "NAME": "Захар"}]
    path.write_text(json.dumps({"fields": [INTEREST, CALLED], "clear": ["lead"], "records": {"lead": LEADS, "user": users}}))
    async with in_process(seed_file=path) as portal:
        (lead,) = await portal.result("crm.lead.list", {"filter": {"UF_CRM_INTEREST": 101}, "select": ["*", "UF_*", "PHONE"]})
        assert (lead["TITLE"], lead["UF_CRM_CALLED"], lead["STATUS_ID"]) == ("Зарубин", "2026-11-02T03:00:00+03:00", "NEW")
        assert lead["PHONE"][0]["VALUE"] == "+7 916 000-00-00"
        assert (await portal.result("crm.lead.fields"))["UF_CRM_INTEREST"]["items"][0]["VALUE"] == "Станки"
        assert [row["FIELD_NAME"] for row in await portal.result("crm.lead.userfield.list")] == ["UF_CRM_INTEREST", "UF_CRM_CALLED"]
        (seventh,) = await portal.result("user.get", {"ID": 7})
        assert (seventh["NAME"], seventh["LAST_NAME"]) == ("Захар", "Смирнов")
        await portal.http.post("/sandbox/reset")
        assert [row["ID"] for row in await portal.result("crm.lead.list")] == ["1000"]
        assert len(await portal.result("crm.deal.list")) > 1
    assert "UF_CRM_INTEREST" not in LEAD.fields
    assert "ufCrm_INTEREST" not in LEAD.by_camel


def test_a_misspelt_seed_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "seed.json"
    path.write_text('{"record": {}}')
    with pytest.raises(ValidationError):
        read_seed(path)
