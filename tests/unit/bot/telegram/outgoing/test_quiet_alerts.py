"""What nobody asked for arrives without a sound at night: the row says so, the message does it."""

import pytest

from orchestrator.sessions.outbox import build_news_row
from tests.unit.bot.telegram.door_kit import NOW
from tests.unit.bot.telegram.outgoing.delivery_kit import CHAT, Post

ITEM = {"what": "deleted", "entity": "deal", "kind": "", "title": "Ромашка", "url": "", "who": [], "lines": []}


@pytest.mark.parametrize(("more", "silent"), [({}, None), ({"quiet": True}, True)])
async def test_a_quiet_alert_makes_no_sound_and_any_other_does(post: Post, more: dict[str, bool], silent: bool | None) -> None:  # noqa: FBT001 - a column of the table
    await post.put(build_news_row(CHAT, {"items": [ITEM], "more": 0, **more}, NOW))
    await post.until_states("sent")
    assert [body.get("disable_notification") for body in post.wire.calls("sendMessage")] == [silent]
