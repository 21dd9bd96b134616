"""The file of a change of many records goes with the person who asked for it, and the journal holds."""

from datetime import timedelta
from pathlib import Path

import pytest

from orchestrator.reports.consistency import EffectChecker
from orchestrator.reports.erasure import erase
from orchestrator.reports.erasure.erase import ErasureFiles
from state.sql import build_sqlite_url, open_store
from state.verify.journal import verify_journal
from tests.unit.engines.bulk_changes.bulk_kit import a_firm, a_program, click, decide, find_card, find_end, propose, read_end
from tests.unit.spine_kit import CHAT, NOW, VERA

TITLE = "Волгамаш: обучение персонала"


@pytest.mark.parametrize("is_decided", [True, False], ids=["done", "waiting"])
async def test_erasing_who_asked_removes_the_file_and_the_journal_holds(tmp_path: Path, *, is_decided: bool) -> None:
    url = build_sqlite_url(tmp_path / "state" / "sdelka.db")
    async with a_firm() as firm, a_program(tmp_path, firm, store=open_store(url)) as world:
        card = find_card(await propose(world))
        if is_decided:
            rows = await decide(world, card)
            assert read_end(rows) == [("bulk-done", {"made": 19, "count": 19})]
            await click(world, find_end(rows)["actions"][0]["words"])
    before = verify_journal(url, judge=EffectChecker, anchors={}, progress=lambda _: None)
    assert before.findings == []
    place = ErasureFiles(logs=tmp_path / "logs", files=tuple((tmp_path / "state").iterdir()))
    store = open_store(url)
    texts = [stored.text for stored in store.open_erasure().iterate_texts()]
    assert any(TITLE in text for text in texts)
    found = erase.inspect_person(store, CHAT, place)
    done = erase.erase_person(store, found, place, now=NOW + timedelta(days=1), by="cli:ops")
    assert [stored.place for stored in store.open_erasure().iterate_texts() if TITLE in stored.text] == []
    assert (done.remains, done.unproven_reasons) == ((), ())
    store.close()
    after = verify_journal(url, judge=EffectChecker, anchors={}, progress=lambda _: None)
    assert [finding for finding in after.findings if finding.kind != "note"] == []


async def test_the_notices_of_a_hand_over_are_a_part_of_what_was_approved(tmp_path: Path) -> None:
    """A message always asks; that of a file was approved with it, and the journal's check says so too."""
    url = build_sqlite_url(tmp_path / "state" / "sdelka.db")
    handed = {"from": 7, "to": [8], "what": ["deals"]}
    async with a_firm() as firm, a_program(tmp_path, firm, store=open_store(url)) as world:
        card = find_card(await propose(world, handed, method="person.handover", actor=VERA, key=VERA.key))
        await decide(world, card, actor=VERA, key=VERA.key)
        assert any("im.notify" in command for command in firm.list_writes())
    assert verify_journal(url, judge=EffectChecker, anchors={}, progress=lambda _: None).findings == []
