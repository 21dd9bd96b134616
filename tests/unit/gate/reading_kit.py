"""Draws the card of a realistic call for every write of the catalogue, and finds what a person could not read on it."""

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import httpx
import orjson
import yaml

from bitrix.errors import BitrixError
from bot.i18n.translate import Locale, Translator
from bot.rendering.cards import render_card
from bot.rendering.spans import to_plain_text
from orchestrator.domain.actor import Actor
from orchestrator.domain.card_view import CardView
from orchestrator.gate.call.effect import Ask, Call, Facts
from orchestrator.gate.call.policy import Policy
from orchestrator.gate.decide.decide import decide
from orchestrator.gate.decide.fetch_facts import fetch_facts
from orchestrator.gate.preview.preview import preview_for
from orchestrator.gate.preview.reason_names import name_reasons
from tests.unit.gate.gate_kit import ROOT, catalogue, effect, made
from tests.unit.gate.sandbox_kit import Desk, a_desk
from tests.unit.spine_kit import NOW

CALLS: Final = ROOT / "tests/corpus/realistic_calls"
LOCALES: Final[tuple[Locale, ...]] = ("ru", "en")
SPEAKER = {locale: Actor(key="tg:1007", name="Борис", role="admin", bitrix_user_id=7, sees="all", locale=locale) for locale in LOCALES}
OPEN = Policy(
    open_methods=frozenset(row.name for row in catalogue() if not row.reads_only), event_handler_hosts=frozenset({"hooks.example.com"})
)
QUANTITIES: Final = frozenset(
    {"5", "10", "12", "15", "20", "45", "54.19", "37.61", "60", "90", "500", "600", "740", "777", "1500", "1764000000"}
)
"""Numbers of the realistic calls that are amounts of something; any other number alone is a code or an id."""
FIRST_UNNAMED = 900000
"""Records from this number on have a name nowhere."""
_FREE = re.compile(r"https?://\S+|/company/\S+|\S+@\S+\.ru|\S+\.(?:pdf|png|mp3|bpt|ru)\b|#[0-9A-Fa-f]{6}\b|<p>\S*</p>|[«“][^»”]*[»”]")
_LATIN = re.compile(r"[A-Za-z][A-Za-z_]*")
_CODE = re.compile(r"\b(?:[A-Z0-9]*[A-Z]_[A-Z0-9_]+|[A-Z]{2,}|[a-z]+[A-Z]\w*|[a-z]+_[a-z_]+|[B-HJ-Z])\b")
_CYRILLIC = re.compile(r"[А-Яа-яЁё]{2,}")
_KNOWN_LATIN = frozenset({"CRM", "RUB", "USD", "EUR", "CNY", "UTM", "SIP", "SMS", "HTML", "PDF", "A", "ID", "KB", "VAT", "PBX", "E"})


@cache
def load_calls() -> Mapping[str, Mapping[str, Any]]:
    """Return the realistic parameters of every write of the catalogue, by method."""
    found: dict[str, Mapping[str, Any]] = {}
    for path in sorted(CALLS.glob("*.yaml")):
        if path.stem != "answers":
            for names, params in yaml.safe_load(path.read_text(encoding="utf-8")).items():
                found |= dict.fromkeys(names.split(), params)
    return found


@cache
def load_answers() -> Mapping[str, Any]:
    """Return what the portal answers to readers that the sandbox does not have, by method."""
    found: Mapping[str, Any] = yaml.safe_load((CALLS / "answers.yaml").read_text(encoding="utf-8"))
    return found


@dataclass(frozen=True)
class Drawn:
    """A card as it is read: the heading and its lines, in plain text."""

    method: str
    locale: Locale
    text: str

    @property
    def complaints(self) -> list[str]:
        """What a person could not read, in words for whoever mends it."""
        return [*dict.fromkeys(_find_complaints(self.text, self.locale, self.method))]


@asynccontextmanager
async def open_portal(folder: Path) -> AsyncIterator[Desk]:
    """Open the product over the sandbox portal, which also answers the readers of `answers.yaml`."""
    async with a_desk(folder) as desk:
        for method, result in load_answers().items():
            desk.wire.instead[method] = httpx.Response(200, content=orjson.dumps({"result": result, "time": {}}))
        yield desk


async def draw(desk: Desk, method: str, locale: Locale, params: Mapping[str, Any] | None = None) -> Drawn:
    """Return the card that the speaker, employee 7, would get for the realistic call of `method`, as plain text."""
    return Drawn(method, locale, to_plain_text(render_card(await build_view(desk, method, locale, params), Translator(locale))))


async def build_view(desk: Desk, method: str, locale: Locale, params: Mapping[str, Any] | None = None) -> CardView:
    """Return what stands on that card."""
    actor = SPEAKER[locale]
    wish = effect(method, dict(load_calls()[method] if params is None else params))
    call = made(wish, actor=actor)
    assert isinstance(call, Call), (method, call)
    facts = await read_facts(desk, call, actor)
    shown = await preview_for(actor, call, facts, desk.world.gate.deps.names, now=NOW)
    verdict = decide(call, mode="full", policy=OPEN, actor=actor, facts=facts, effect=wish)
    names = desk.world.gate.deps.names
    asked = await name_reasons(verdict.reasons, names, locale) if isinstance(verdict, Ask) else ()
    reasons = [reason.model_dump() for reason in asked]
    body = {
        "confirmation_id": "0a1b2c3d4e", "nonce": "12345678", "method": call.method, "status": "requested", "preview": shown.to_json(),
        "reasons": reasons, "call_class": "".join(call.classes), "requested_by_name": "Борис", "expires_at": "2020-11-21T12:00:00.000000Z",
    }  # fmt: skip
    return CardView.from_body(body)


async def read_facts(desk: Desk, call: Call, actor: Actor) -> Facts:
    """Return what is read to check the call; nothing if the sandbox lacks its record."""
    try:
        return await fetch_facts(call, actor, desk.world.gate.deps)
    except BitrixError:  # the sandbox has no such record: the card is drawn all the same, with what the call says
        return Facts()


def _find_complaints(text: str, locale: Locale, method: str) -> Iterator[str]:
    body = text.partition("\n\n🔴")[0].partition("\n\n🟠")[0].partition("\n\n🟡")[0]
    asked = text[len(body) :].partition("Попросил" if locale == "ru" else "Asked by")[0]
    plain = _FREE.sub(" ", body) + " " + _FREE.sub(" ", asked)
    yield from (f"number {number}" for number in _find_bare_numbers(body))
    if locale == "ru":
        yield from (f"word {word}" for word in _LATIN.findall(plain) if word not in _KNOWN_LATIN | _read_latin_values())
    else:
        yield from (f"code {word}" for word in _CODE.findall(plain) if word not in _KNOWN_LATIN | _read_latin_values())
        yield from (f"word {word}" for word in _CYRILLIC.findall(plain) if word.lower() not in _list_russian_words())


def _find_bare_numbers(body: str) -> Iterator[str]:
    """Yield numbers that stand alone, numbers of records that have a name, and numbers that do not say that they are numbers."""
    quoted = _FREE.sub(" ", body)
    for line in quoted.split("\n")[1:]:
        for part in re.split(r": | → |, |; |^[→•] ", line):
            if re.fullmatch(r"[0-9.]{1,5}", part) and part not in QUANTITIES:
                yield part
    for sign, number in re.findall(r"(№ ?|#|No\. )?\b([0-9]{1,6})\b", re.sub(r"#[0-9A-Fa-f]{6}\b|«{.*?}»", "", body)):
        if sign and int(number) < FIRST_UNNAMED and not re.search(r"[Шш]кол", body):
            yield f"№{number}"
    yield from (number for number in re.findall(r"(?<!№)(?<!№ )(?<!No\. )\b9[0-9]{5}\b", quoted))


@cache
def _read_latin_values() -> frozenset[str]:
    """Words in Latin letters that are names or words of the person, no codes."""
    return frozenset({"HUMIDITY"})


@cache
def _list_russian_words() -> frozenset[str]:
    """Russian words of the realistic calls and of the sandbox portal, which an English card repeats."""
    texts = [path.read_text(encoding="utf-8") for path in (*CALLS.glob("*.yaml"), *(ROOT / "sandbox/portal").glob("*.py"))]
    texts.extend(path.read_text(encoding="utf-8") for path in (ROOT / "sandbox/portal/methods").glob("*.py"))
    return frozenset(word.lower() for text in texts for word in _CYRILLIC.findall(text))
