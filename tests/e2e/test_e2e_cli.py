"""`sdelka chat` over a pipe: the same product in a terminal, confirmed with y or n."""

import pytest

from tests.e2e.e2e_kit import World

pytestmark = pytest.mark.long  # processes of its own

TALK = """\
подними сумму сделки Ромашка до 140 000
n
подними сумму сделки Ромашка до 150 000
y
перенеси сделку Вектор на стадию В работе
2
maybe
/pending
y
/status
"""


@pytest.mark.req("S004-31", "S004-12", "S004-48")
async def test_a_conversation_over_a_pipe(world: World) -> None:
    """With n it denies, with y it runs exactly what was shown, a number chooses, anything else leaves the card open for /pending."""
    async with world.process("chat", "--user", "7") as process:
        out, _ = await process.communicate(TALK.encode())
    shown = out.decode().replace("\xa0", " ")
    assert process.returncode == 0, (world.folder / "bot.log").read_text(encoding="utf-8")
    assert "Сумма: 120 000 ₽ → 140 000 ₽" in shown
    assert "Отклонено" in shown
    assert "Сумма: 120 000 ₽ → 150 000 ₽" in shown
    assert "  2. Вектор: " in shown
    assert "Ждёт решения 1 запрос" in shown
    assert shown.count("✅ Выполнено") == 2
    assert "Ждут решения: 0" in shown
    assert await world.writes() == ["crm.deal.update"] * 2
    assert (await world.record("deal", 481))["OPPORTUNITY"] == "150000.00"


async def test_a_missing_setting_and_a_busy_folder_are_one_sentence_each(world: World) -> None:
    """Exit code 2 and a sentence that names what to mend; no stack trace."""
    async with world.process("chat", bitrix_webhook_url="") as process:
        await process.communicate(b"")
    log = (world.folder / "bot.log").read_text(encoding="utf-8")
    assert (process.returncode, log.count("\n")) == (2, 1)
    assert "BITRIX_WEBHOOK_URL" in log

    async with world.bot(), world.process("chat") as second:
        await second.communicate(b"")
    log = (world.folder / "bot.log").read_text(encoding="utf-8").splitlines()[-1]
    assert second.returncode == 2
    assert "STATE_DIR" in log
    assert "another process" in log
