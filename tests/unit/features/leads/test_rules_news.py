"""News of the policy file: to administrators, in their own chats, each once."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from bot.i18n.translate import Translator, as_notice
from orchestrator.features.leads.live_policy import FixedPolicy, PolicyChange, PolicyWatcher
from orchestrator.gate.call.policy import Policy
from state.journal.store import InboxRow, StoreUnwritable
from tests.unit.features.leads.leads_kit import DINA, Department, a_department, by_chat
from tests.unit.spine_kit import NOW, VERA

FAULTS = ("POLICY_FILE mine.yaml: line 2: `ask_abov`: no such key; remove it. Did you mean 'ask_above'?",)


async def test_administrators_read_what_is_wrong_with_the_file(tmp_path: Path) -> None:
    """With the line and the cure; nobody else does, and the same news is told once."""
    async with a_department(tmp_path, department=Department(everybody=[VERA, DINA])) as world:
        watch = PolicyWatcher()
        for _ in range(2):
            watch.add_news(PolicyChange(digest="abc", content="c1", faults=FAULTS))
        async with world.working():
            await watch.deliver_news(world.orchestrator.receive, NOW)
            await world.idle()
        rows = world.outbox()
        assert by_chat(rows) == {DINA.key: ["policy-faulty"]}
        said = Translator("ru").translate_notice(as_notice(rows[0].body["notices"][0]))
        assert "В файле правил ошибки: 1" in said
        assert FAULTS[0] in said


async def test_news_that_cannot_be_stored_wait() -> None:
    """A full disk loses none of them."""
    watch, stored, fail = PolicyWatcher(), list[InboxRow](), [True, False]
    watch.add_news(PolicyChange(digest="abc", content="c1"))

    async def receive(rows: Sequence[InboxRow]) -> None:
        if fail.pop(0):
            raise StoreUnwritable("no space left")
        stored.extend(rows)

    with pytest.raises(StoreUnwritable):
        await watch.run(FixedPolicy(Policy()), receive, NOW)
    await watch.run(FixedPolicy(Policy()), receive, NOW)
    assert [row.body["digest"] for row in stored] == ["abc"]
