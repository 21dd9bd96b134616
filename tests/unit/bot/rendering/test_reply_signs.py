"""Nothing warns that is no warning, none warns twice, and a number that names something is written as it stands."""

import pytest

from bot.i18n.translate import Translator
from bot.rendering.replies import render_reply
from bot.rendering.spans import to_plain_text
from orchestrator.domain.outputs import Notice, Reply

RU = Translator("ru")
FROZEN = Notice(code="frozen-now", args={"known": "no", "who": "", "at": "", "why": ""})


@pytest.mark.parametrize(
    "notice",
    [
        Notice(code="status", args={"mode": "full", "waiting": 0, "unknown": 0, "running": "no", "done": 0}),
        Notice(code="mode", args={"mode": "full", "installed": "full"}),
        Notice(code="stopping"),
    ],
    ids=lambda notice: notice.code,
)
def test_no_sign_where_nothing_is_wrong_and_one_where_something_is(notice: Notice) -> None:
    """/status, /mode and /stop say more than one sentence; the frozen portal has its own sign."""
    said = to_plain_text(render_reply(Reply(notices=(notice, FROZEN)), RU))
    assert said.count("⚠️") == 0
    assert said.count("⛔") == 1
    assert said.startswith(RU.translate_notice(notice))


@pytest.mark.parametrize(("code", "key"), [("gate-not-found", "id"), ("gate-not-yours", "id")])
def test_a_records_number_is_not_grouped(code: str, key: str) -> None:
    """«№999999», as it stands in the address of its card."""
    assert "№999999" in RU.translate(code, **{key: 999_999, "entity": "deal"})


@pytest.mark.parametrize(
    ("code", "told"),
    [("away", "он сейчас не отвечает. Попробуйте позже"), ("none", "ничего не отправлено"), ("ERROR_CORE", "ничего не отправлено")],
)
def test_a_portal_in_trouble_is_told_in_words(code: str, told: str) -> None:
    """«INTERNAL_SERVER_ERROR» says nothing to a person."""
    assert RU.translate("portal-unreadable", code=code).endswith(told)
