"""People, records and short calls for the tests of the gate."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from bitrix.catalogue.catalogue import Catalogue, Method, load_catalogue
from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.effect import Effect, Provenance
from orchestrator.gate.call.effect import Call, Facts, Refuse, Verdict
from orchestrator.gate.call.policy import Policy
from orchestrator.gate.decide.decide import decide
from orchestrator.gate.normalize.normalize import normalize
from orchestrator.language.money_format import NO_CURRENCY_BOOK, CurrencyStyle

ROOT = Path(__file__).resolve().parents[3]
PORTAL = "https://portal.example"
ANNA = Actor(key="anna", name="Анна", bitrix_user_id=7)
BORIS = Actor(key="boris", name="Борис", bitrix_user_id=8)
LEAD = Actor(key="lead", name="Вера", role="lead", bitrix_user_id=6, sees="all")
TEAM = Actor(key="team", name="Глеб", role="lead", bitrix_user_id=6, sees=(7, 8))
TOKEN = Actor(key="token", name="ci", sees="all")
LOST = Actor(key="lost", name="Дина")

DEAL = {
    "ID": "481",
    "TITLE": "Ромашка",
    "OPPORTUNITY": "1000000.00",
    "CURRENCY_ID": "RUB",
    "STAGE_ID": "NEW",
    "CATEGORY_ID": "0",
    "ASSIGNED_BY_ID": "7",
    "CLOSEDATE": "2026-12-25T03:00:00+03:00",
    "OPENED": "Y",
    "CONTACT_ID": "0",
    "COMMENTS": "",
    "PROBABILITY": None,
}
FOREIGN = {**DEAL, "ID": "500", "TITLE": "Чужая", "ASSIGNED_BY_ID": "8"}
CONTACT = {
    "ID": "43",
    "NAME": "Иван",
    "LAST_NAME": "Иванов",
    "ASSIGNED_BY_ID": "7",
    "PHONE": [{"ID": "156", "VALUE": "+7900", "VALUE_TYPE": "WORK"}],
}
TASK = {"id": "8017", "title": "Счёт", "responsibleId": "7", "createdBy": "6", "deadline": "2026-12-01T10:00:00+03:00", "status": "2"}
ACTIVITY = {"ID": "55", "SUBJECT": "Звонок", "RESPONSIBLE_ID": "7", "DEADLINE": "2026-12-01T10:00:00+03:00", "COMPLETED": "N"}
RECORDS: dict[tuple[str, int], Mapping[str, Any] | None] = {
    ("deal", 481): DEAL,
    ("deal", 500): FOREIGN,
    ("contact", 43): CONTACT,
    ("task", 8017): TASK,
    ("activity", 55): ACTIVITY,
    ("deal", 999): None,
}
FIRST = {"deal:0": "NEW", "deal:1": "C1:NEW", "lead:0": "NEW"}
NAMED = Provenance(
    message=None, targets=frozenset({"deal:481", "deal:500", "contact:43", "task:8017", "activity:55"}), person_text="сделай"
)


@cache
def catalogue() -> Catalogue:
    """The shipped catalogue, read once."""
    return load_catalogue(ROOT / "data" / "catalogue")


def effect(method: str, params: dict[str, Any] | None = None, **more: Any) -> Effect:
    """What an engine hands over; no message has to order it, and its records were named, unless told otherwise."""
    return Effect(method=method, params=params or {}, **{"provenance": NAMED, **more})


def made(what: Effect, *, actor: Actor = LEAD, effect_id: str = "e1") -> Call | Refuse:
    """The effect after normalising."""
    return normalize(what, catalogue=catalogue(), portal=PORTAL, actor=actor, effect_id=effect_id)


def call(method: str, params: dict[str, Any] | None = None, *, actor: Actor = LEAD) -> Call:
    """The call of an effect that must be fine."""
    found = made(effect(method, params), actor=actor)
    assert isinstance(found, Call), found
    return found


def refusal(method: str, params: dict[str, Any] | None = None, *, actor: Actor = LEAD) -> str:
    """The code of a refusal by normalise."""
    found = made(effect(method, params), actor=actor)
    return found.reason.code


def judged(what: Effect, *, actor: Actor = LEAD, mode: Mode = "full", policy: Policy | None = None, facts: Facts | None = None) -> Verdict:
    """The verdict, also when normalise refuses already."""
    found = made(what, actor=actor)
    if isinstance(found, Refuse):
        return found
    here = facts or Facts(records={target: RECORDS.get(target) for target in found.targets if target in RECORDS}, first_stages=FIRST)
    return decide(found, mode=mode, policy=policy or Policy(), actor=actor, facts=here, effect=what)


def said(verdict: Verdict) -> list[str]:
    """The codes of a verdict, of the command where it is one of a batch; an empty list for Allow and PlanOnly."""
    if isinstance(verdict, Refuse):
        return [verdict.reason.args.get("reason", verdict.reason.code)]
    return [reason.args.get("reason", reason.code) for reason in getattr(verdict, "reasons", ())]


def minimal(method: Method) -> dict[str, Any]:
    """Parameters that let any row through normalise, about a record that is there."""
    params: dict[str, Any] = {}
    values = {"entityTypeId": 2, "ownerTypeId": 2, "ownerType": "D", "type": "user", "cmd": {"a": "user.current"}, "fields": {"TITLE": "x"}}
    for path in method.required:
        head, _, rest = path.partition(".")
        if rest:
            inner = {"=ownerType": "D", "ENTITY_TYPE": "deal", "TYPE_ID": 2, "OWNER_TYPE_ID": 2, "ownerType": "D", "entityTypeId": 2}
            params.setdefault(head, {})[rest] = inner.get(rest, 481)
        else:
            params[head] = values.get(head, {"TITLE": "x"} if head in {"FIELDS", "ARFIELDS", "params"} else 481)
    if method.name == "event.bind":
        params["handler"] = "https://hooks.example.com/x"
    return params


class NoOwnNames:
    """What a portal says that has no fields, kinds or currencies of its own; the rest of `Names` is the test's."""

    async def find_kind_name(self, entity: str, locale: str) -> str:
        return ""

    async def find_name_by_read(self, method: str, params: Mapping[str, Any], number: int, locale: str) -> str:
        return ""

    async def find_payee(self, requisite_id: int) -> str:
        return ""

    async def find_field_title(self, entity: str, name: str) -> str:
        return ""

    async def describe_field_value(self, entity: str, name: str, value: Any, *, locale: str, zone: str) -> list[str] | None:
        return None

    async def load_currency_book(self) -> Mapping[str, CurrencyStyle]:
        return NO_CURRENCY_BOOK
