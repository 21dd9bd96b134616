"""A person with a live standing order is erased: their words go, nothing of it works on, and the journal holds."""

from datetime import timedelta
from pathlib import Path

from orchestrator.reports.consistency import EffectChecker
from orchestrator.reports.erasure import erase
from orchestrator.reports.erasure.erase import ErasureFiles
from state.sql import build_sqlite_url, open_store
from state.verify.journal import verify_journal
from tests.unit.features.orders.orders_kit import Firm, a_bench
from tests.unit.spine_kit import CHAT, NOW

WORDS = "Ромашка снова поменяла сумму, звони"


async def test_erasing_who_gave_it_ends_a_live_order(tmp_path: Path) -> None:
    """After it neither the words stand anywhere nor is anything told when the deal changes; nobody else's timer is touched."""
    url = build_sqlite_url(tmp_path / "state" / "sdelka.db")
    async with Firm.open() as firm:
        async with a_bench(tmp_path, store=open_store(url), firm=firm) as bench:
            await bench.give({"deal": 481, "changes": ["OPPORTUNITY"], "text": WORDS})
            await bench.look()
            assert len(bench.orders()) == 1
        store = open_store(url)
        assert any(WORDS in stored.text for stored in store.open_erasure().iterate_texts())
        place = ErasureFiles(logs=tmp_path / "logs", files=tuple((tmp_path / "state").iterdir()))
        done = erase.erase_person(store, erase.inspect_person(store, CHAT, place), place, now=NOW + timedelta(days=1), by="cli:ops")
        assert [stored.place for stored in store.open_erasure().iterate_texts() if WORDS in stored.text] == []
        assert (done.remains, done.unproven_reasons) == ((), ())
        store.close()
        findings = verify_journal(url, judge=EffectChecker, anchors={}, progress=lambda _: None).findings
        assert [finding for finding in findings if finding.kind != "note"] == []
        async with a_bench(tmp_path, store=open_store(url), firm=firm) as bench:
            assert bench.orders() == {}
            assert bench.timers() == []
            await bench.change_portal("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 777}})
            await bench.look()
            assert bench.all_told() == []
