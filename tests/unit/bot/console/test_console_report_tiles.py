"""The reports of the morning on the first page: for who leads, counted after the page is there, with buttons that change them in place."""

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.report import ReportAnswer, ReportTrouble, ReportVariant
from orchestrator.features.numbers.tiles import load_tiles
from tests.unit.analytics.analytics_kit import build_deal, build_desk, build_won
from tests.unit.bot.console.console_kit import ANNA, OLGA, VERA, ConsoleWorld, OpenPage, a_console
from tests.unit.bot.rendering.report_kit import make_answer, make_rows

LOADING = ReportTrouble(code="loading", text="Цифры загружаются: 40 %")


@dataclass
class CountedReports:
    """Answers each question with bars; keeps what it was asked."""

    has_begun: bool = True
    trouble: ReportTrouble | None = None
    asked: list[tuple[Mapping[str, Any], Any]] = field(default_factory=list)

    async def answer(self, question: Mapping[str, Any], *, sees: Any, **_: object) -> ReportAnswer | ReportTrouble:
        self.asked.append((question, sees))
        variants = (ReportVariant(label="по источникам", change={"group_by": ["source"]}),)
        return self.trouble or make_answer("bars", make_rows(["Борис"], [3e6]), question=dict(question), variants=variants)

    async def list_records(self, question: Any, *, actor: Any) -> Any:
        raise NotImplementedError


def give(made: ConsoleWorld, **how: Any) -> CountedReports:
    """The console's services get these reports."""
    reports = CountedReports(**how)
    made.world.orchestrator.tools = replace(made.world.orchestrator.tools, reports=reports)
    return reports


def find_pictures(page: OpenPage) -> list[str]:
    """The SVG of each picture."""
    return [b64decode(str(one.props["src"]).partition(",")[2]).decode() for one in page.elements if "picture" in one.classes]


async def test_the_page_is_there_before_its_numbers(made: ConsoleWorld) -> None:
    """Counting begins when the browser has connected; each tile is then drawn in both themes."""
    reports = give(made)
    page = await made.open("/", VERA)
    assert reports.asked == []
    assert not page.has("Считаю…")
    await page.connect()
    assert [question for question, _ in reports.asked] == [tile.question for tile in load_tiles()]
    assert len(find_pictures(page)) == 2 * len(load_tiles())
    assert all("Борис" in picture for picture in find_pictures(page))
    assert all(page.has(tile.title["ru"]) for tile in load_tiles())


async def test_who_does_not_lead_sees_no_tiles(made: ConsoleWorld) -> None:
    reports = give(made)
    page = await made.open("/", ANNA)
    await page.connect()
    assert not page.has(page.visit.say("console-numbers"))
    assert reports.asked == []


async def test_a_person_sees_the_numbers_of_their_own_rights(tmp_path: Path) -> None:
    """A lead of two people, and an administrator who sees all."""
    lead = VERA.model_copy(update={"sees": [7, 8]})
    async with a_console(tmp_path, people=(lead, OLGA)) as made:
        reports = give(made)
        for person in (lead, OLGA):
            await (await made.open("/", person)).connect()
        assert [sees for _, sees in reports.asked] == [frozenset({6, 7, 8})] * len(load_tiles()) + [None] * len(load_tiles())


async def test_nobody_who_opens_the_page_begins_to_read_the_portal(made: ConsoleWorld) -> None:
    """A button does."""
    reports = give(made, has_begun=False)
    page = await made.open("/", VERA)
    await page.connect()
    assert reports.asked == []
    await page.press(page.visit.say("console-numbers-begin"))
    assert len(reports.asked) == len(load_tiles())


async def test_a_trouble_is_a_sentence_and_goes_when_the_numbers_are_there(made: ConsoleWorld) -> None:
    reports = give(made, trouble=LOADING)
    page = await made.open("/", VERA)
    await page.connect()
    assert page.has(LOADING.text)
    assert find_pictures(page) == []
    reports.trouble = None
    await made.tell_change()
    assert not page.has(LOADING.text)
    assert find_pictures(page) != []
    before = len(reports.asked)
    await made.tell_change()
    assert len(reports.asked) == before


async def test_a_button_changes_the_report_in_place_and_another_leads_back(made: ConsoleWorld) -> None:
    reports = give(made)
    page = await made.open("/", VERA)
    await page.connect()
    stuck = load_tiles()[-1].question
    await page.press("по источникам")
    assert reports.asked[-1][0] == {**stuck, "group_by": ["source"]}
    await page.press("◀ Назад")
    assert reports.asked[-1][0] == stuck
    assert "◀ Назад" not in page.read_texts()
    assert page.has("Считал так")


@pytest.mark.parametrize("locale", ["ru", "en"])
async def test_every_tile_is_a_report_that_can_be_counted(tmp_path: Path, locale: Any) -> None:
    desk = build_desk(tmp_path, [build_won(1, 100), build_deal(2)])
    shown = {tile.code: (await desk.answer(tile.question)).shown_as for tile in load_tiles()}
    assert shown == {"won": "number", "funnel": "funnel", "stuck": "bars"}
    assert all(tile.title[locale] for tile in load_tiles())
