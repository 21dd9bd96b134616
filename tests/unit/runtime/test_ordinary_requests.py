"""Ordinary requests of one act each reach the portal exactly as they were meant, at the price of one card at most."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.unit.runtime.ordinary_kit import MANAGER, Played, Request, load_requests, play

pytestmark = pytest.mark.slow
ORDINARY = load_requests("ordinary_requests.yaml")
SPOKEN = load_requests("spoken_requests.yaml")


def test_the_corpus_holds_what_it_is_said_to_hold() -> None:
    """Sixty requests, a dozen of them in English, and twenty as people really write; no two alike."""
    said = [request.say for request in (*ORDINARY, *SPOKEN)]
    assert (len(ORDINARY), len(SPOKEN), len(set(said))) == (60, 20, 80)
    assert sum(request.person.locale == "en" for request in ORDINARY) == 12


@pytest.mark.long
async def test_sixty_ordinary_requests_need_one_card_each_and_none_is_refused(tmp_path: Path) -> None:
    await check_requests(ORDINARY, tmp_path)


@pytest.mark.long
async def test_so_do_twenty_in_the_words_that_people_really_use(tmp_path: Path) -> None:
    """Short, misspelt, dictated without a comma, names in oblique cases, sums in slang."""
    await check_requests(SPOKEN, tmp_path)


async def test_the_player_sees_refusals_doubled_writes_and_second_cards(tmp_path: Path) -> None:
    """What the two tests above rest on."""
    comment = {"method": "crm.timeline.comment.add", "params": {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "Ждём"}}}
    another = {"method": "crm.deal.update", "params": {"id": 481, "fields": {"OPPORTUNITY": 150000}}}
    third = {"method": "crm.deal.update", "params": {"id": 412, "fields": {"OPPORTUNITY": 650000}}}
    wants = [{"read": "crm.deal.get", "params": {"id": 481}, "holds": {"OPPORTUNITY": "160000.00"}}]
    gone = {"method": "crm.deal.delete", "params": {"id": 481}}
    doubled = await play(
        Request(
            say="запиши в 481: Ждём, подними 481 до 150 тысяч и 412 до 650",
            person=MANAGER,
            answers=[[comment], [another, third]],
            wants=wants,
        ),
        tmp_path,
    )
    assert (doubled.cards, doubled.writes, len(doubled.missing)) == (1, [comment["method"], another["method"], third["method"]], 1)
    refused = await play(Request(say="удали ромашку", person=MANAGER, answers=[[gone]], wants=()), tmp_path)
    assert (refused.writes, [line.partition(":")[0] for line in refused.refused]) == ([], ["StepRefused"])
    misspelt = {"method": "crm.deal.update", "params": {"id": "@deal:Ромшка", "fields": {"OPPORTUNITY": 1}}}
    asked = await play(Request(say="ромшка", person=MANAGER, answers=[[misspelt]], wants=()), tmp_path)
    assert len(asked.asked) == 1


async def check_requests(requests: Sequence[Request], folder: Path) -> None:
    """No refusal, no question, one card at most but for one request, exactly the planned writes, and the wanted values in the portal."""
    played = []
    for number, request in enumerate(requests):
        place = folder / str(number)
        place.mkdir()
        played.append(await play(request, place))
    pairs = list(zip(requests, played, strict=True))
    faulty = [one for request, one in pairs if one.refused or one.asked or one.missing or one.writes != request.planned]
    dear = [one for one in played if one.cards > 1]
    assert not faulty, build_table(faulty)
    assert len(dear) <= 1, build_table(dear)


def build_table(played: Sequence[Played]) -> str:
    """A line for each request: cards, writes, and what went wrong."""
    lines = ["", "cards · writes · request · what went wrong"]
    for one in played:
        wrong = "; ".join([*one.refused, *one.asked, *one.missing, *one.told])
        lines.append(f"{one.cards} · {', '.join(one.writes) or '–'} · {one.say} · {wrong or 'more cards or other writes than planned'}")
    return "\n".join(lines)
