"""Hostile and random effects: the gate never raises, never lets through what it should not, and never changes its mind."""

import asyncio
from decimal import Decimal
from random import Random
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bitrix.catalogue.catalogue import Method
from orchestrator.domain.actor import MODES, Mode
from orchestrator.domain.effect import Effect, EffectKind, Provenance
from orchestrator.gate.call.effect import Allow, Call, Facts, Refuse
from orchestrator.gate.call.policy import Policy
from orchestrator.gate.decide.decide import decide
from orchestrator.gate.decide.decide import evaluate as whole_judgement
from orchestrator.gate.preview.call_labels import build_offline_label
from orchestrator.gate.preview.preview import preview
from tests.unit.gate.gate_kit import ANNA, FIRST, LEAD, LOST, TEAM, TOKEN, NoOwnNames, catalogue, effect, judged, made, minimal, said

METHODS = sorted(catalogue(), key=lambda method: method.name)
NAMES = [method.name for method in METHODS]
LONG = settings.get_current_profile_name() == "long"
"""pytest --hypothesis-profile long: ten times as many examples, others each time."""
SETTINGS = settings(max_examples=1500 if LONG else 150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=not LONG)
WORDS = [
    "id",
    "ID",
    "fields",
    "filter",
    "OPPORTUNITY",
    "opportunity",
    "ASSIGNED_BY_ID",
    "ENTITY_TYPE",
    "ENTITY_ID",
    "entityTypeId",
    "taskId",
]
WORDS += [
    "logic",
    "0",
    "cmd",
    "halt",
    "$result[a]",
    "deal",
    "crm.deal.delete?id=1",
    "STAGE_ID",
    "PHONE",
    "ID",
    "VALUE",
    "auth",
    "params",
    "TASKID",
]

FIELDS = [
    "OPPORTUNITY",
    "opportunity",
    "ASSIGNED_BY_ID",
    "assignedById",
    "STAGE_ID",
    "PHONE",
    "fm",
    "DEADLINE",
    "TITLE",
    "TYPE_ID",
    "=ID",
    ">=ID",
    "0",
]

texts = st.one_of(st.sampled_from(WORDS), st.text(max_size=8))
scalars = st.one_of(st.none(), st.booleans(), st.integers(-5, 1000), st.floats(), texts)
values = st.recursive(
    scalars, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)), max_leaves=8
)
commands = st.builds(
    lambda method, query: f"{method}?{query}", st.sampled_from(NAMES), st.text(alphabet="id=1&[]%5B5D$resultaFIELDSTfields", max_size=25)
)
maps = st.dictionaries(texts, values, max_size=4)
plain = st.dictionaries(st.sampled_from(FIELDS), values, max_size=4)


@st.composite
def likely(draw: st.DrawFn) -> tuple[EffectKind, str, dict[str, Any]]:
    """A listed method with what it needs, and something odd on top now and then."""
    method = draw(st.sampled_from(METHODS))
    params = minimal(method)
    if method.name == "batch":
        params = {"cmd": draw(st.dictionaries(st.sampled_from(["a", "b", "c"]), commands, min_size=1, max_size=3))}
    for name in [*method.required, "filter"]:
        head = name.partition(".")[0]
        if head in {"fields", "FIELDS"} and draw(st.booleans()):
            params[head] = {**params[head], **draw(plain)}
        elif head == "filter" and "filter" in method.params and draw(st.booleans()):
            params["filter"] = {**params.get("filter", {}), **draw(plain)}
    if draw(st.integers(0, 3)) == 0:
        params.update(draw(maps))
    return "bitrix", method.name, params


unlikely = st.tuples(
    st.sampled_from(["bitrix", "mongo", "http", "telegram", "file"]),
    st.one_of(st.sampled_from([*NAMES, "insert_one", "post", "send_message", "flow"]), st.text(max_size=12)),
    maps,
)


@st.composite
def effects(draw: st.DrawFn) -> Effect:
    """Mostly what a model would write, partly noise."""
    kind, method, params = draw(st.one_of(likely(), likely(), likely(), unlikely))
    return Effect(
        kind=kind,
        method=method,
        params=params,
        requires_confirmation=draw(st.booleans()),
        confirmed=draw(st.booleans()),
        confirmation_decision=draw(st.sampled_from([None, None, "approve", "deny", "x"])),
        provenance=Provenance(message=None, prose=draw(st.booleans()), external=(draw(texts),), person_text=draw(st.text(max_size=5))),
    )


records = st.one_of(st.none(), maps, st.just({"ASSIGNED_BY_ID": "7", "OPPORTUNITY": "5.00", "STAGE_ID": "NEW"}))
policies = st.sampled_from([
    Policy(),
    Policy(open_methods=frozenset(NAMES), open_kinds=frozenset({"mongo", "http"}), ask_above=Decimal(5), four_eyes_above=Decimal(9)),
])  # fmt: skip


@pytest.mark.slow
@SETTINGS
@given(what=effects(), mode=st.sampled_from(MODES), actor=st.sampled_from([ANNA, LEAD, TEAM, TOKEN, LOST]), policy=policies, record=records)
def test_the_gate_is_total(what: Effect, mode: Mode, actor: Any, policy: Policy, record: Any) -> None:
    """Any effect, any state of the world: a verdict and no exception, and the hard rules hold."""
    found = made(what, actor=actor)
    if isinstance(found, Refuse):
        assert found.detail
        return
    facts = Facts(records=dict.fromkeys(found.targets, record), first_stages=FIRST)
    verdict = decide(found, mode=mode, policy=policy, actor=actor, facts=facts, effect=what)
    assert verdict == decide(found, mode=mode, policy=policy, actor=actor, facts=facts, effect=what)
    if isinstance(verdict, Allow):
        assert mode != "shadow"
        assert not set(found.classes) & {"D", "C", "M", "N"}
        assert not what.requires_confirmation
        assert found.reads_only or not what.provenance.prose or found.kind != "bitrix"


@pytest.mark.slow
@SETTINGS
@given(what=effects())
def test_normalising_is_stable(what: Effect) -> None:
    """A call that was made once is made again from its own parameters, exactly."""
    found = made(what, actor=ANNA)
    if isinstance(found, Call) and found.kind == "bitrix":
        again = made(Effect(method=found.method, params=found.params), actor=ANNA)
        assert again.fingerprint == found.fingerprint


class Nameless(NoOwnNames):
    """A portal that knows no names."""

    async def find_user_name(self, user_id: int) -> str:
        return ""

    async def find_stage_name(self, entity: str, stage_id: str, category_id: int = 0) -> str:
        return ""

    async def find_category_name(self, category_id: int, entity: str = "deal") -> str:
        return ""

    async def find_title(self, entity: str, record_id: int) -> str:
        return ""

    def build_card_url(self, entity: str, record_id: int, *, user: int = 0) -> str:
        return ""


@pytest.mark.long
@settings(parent=SETTINGS, max_examples=1500 if LONG else 100)
@given(what=effects(), record=records)
def test_every_call_can_be_shown(what: Effect, record: Any) -> None:
    """A card never fails, is JSON, and hides no sign, whatever the call and the record hold."""
    found = made(what, actor=ANNA)
    if isinstance(found, Call):
        facts = Facts(records=dict.fromkeys(found.targets, record))
        card = asyncio.run(preview(found, facts, Nameless(), locale="ru")).to_json()
        assert str(orjson.dumps(card), "utf-8").isprintable()


ODD = [
    "9" * 5000,
    int("9" * 20),
    10**5000,
    "9999-12-31T23:59:59-03:00",
    "9999-12-31T23:59:59-12:00",
    "0001-01-01T00:00:00+14:00",
    "2026-12-01T10:00:00+99:00",
    "2026-13-45",
    "1e400",
    "٣",
    "²",
    "\u202e<b>",
    ["²"],
    [{"VALUE": 5}],
    [{"ID": "156", "VALUE": ""}],
    {"0": "a"},
    {"ID": {"x": 1}},
    [[[]]],
    "D_" + "9" * 5000,
]
READ = [value for value in ODD if not isinstance(value, int)]  # no reader of JSON makes such integers
WRITES = [method for method in METHODS if not method.reads_only and method.name != "batch"]
WRITTEN = ["OPPORTUNITY", "ASSIGNED_BY_ID", "STAGE_ID", "PHONE", "fm", "DEADLINE", "TITLE", "UF_CRM_1", "CATEGORY_ID", "COMPANY_ID"]
TRIES = 30 if LONG else 3


def odd_write(method: Method, chance: Random) -> Effect:
    """A listed write, of which one to three fields or parameters hold what no reader foresaw."""
    params = minimal(method)
    entity = catalogue().entities.get(method.entity)
    known = [*(entity.fields if entity else ()), *method.critical, *WRITTEN]
    if method.fields_at and isinstance(params.get(method.fields_at, {}), dict) and chance.random() < 0.8:
        odd = {chance.choice(known): chance.choice(ODD) for _ in range(chance.choice([1, 1, 3]))}
        params[method.fields_at] = {**params.get(method.fields_at, {}), **odd}
    else:
        params |= {name: chance.choice(ODD) for name in [*params, *method.params] if name != "*" and chance.random() < 0.5}
    return Effect(method=method.name, params=params)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
def test_no_odd_value_stops_the_gate(caplog: pytest.LogCaptureFixture, seed: int) -> None:
    """Judging answers, a card can be shown, and a free write has a name: nothing is raised for a value, also not behind a net."""
    chance, reached = Random(seed), 0  # noqa: S311 - no secret hangs on it
    with asyncio.Runner() as loop:
        for method in WRITES * TRIES:
            what = odd_write(method, chance)
            found = made(what, actor=LEAD)
            if isinstance(found, Refuse):
                continue
            reached += 1
            record = chance.choice([None, {}, {name: chance.choice(READ) for name in WRITTEN}])
            facts = Facts(records=dict.fromkeys([*found.targets, *found.ties], record), first_stages=FIRST)
            fine, _ = whole_judgement(found, mode="full", policy=Policy(), actor=LEAD, facts=facts, effect=what)
            card = loop.run(preview(fine, facts, Nameless(), locale="ru")).to_json()
            assert str(orjson.dumps(card), "utf-8").isprintable()
            assert set(loop.run(build_offline_label(fine, facts, LEAD))) >= {"method", "verb"}
    assert not caplog.records, caplog.text
    assert reached > len(WRITES)


HOSTILE: list[tuple[str, dict[str, Any]]] = [
    ("CRM.Deal.Delete", {"id": 481}),
    ("CRM.Deal.Delete.json", {"ID": 481}),
    ("crm.deal.delete/", {"id": 481}),
    ("crm%2Edeal%2Edelete", {"id": 481}),
    ("crm.item.delete", {"entityTypeId": 2, "id": 481}),
    ("crm.item.update", {"entityTypeId": 2, "id": 481, "fields": {"opportunity": 1}}),
    ("crm.item.update", {"entityTypeId": "D", "id": 481, "fields": {"OPPORTUNITY": 1}}),
    ("crm.deal.update", {"ID": 481, "FIELDS": {"opportunity": 1}}),
    ("crm.deal.update", {"id": 481, "fields": {"Opportunity": "1"}}),
    ("crm.deal.update", {"id": 481, "fields": {"o_p_portunity": "1"}}),
    ("tasks.task.delegate", {"taskId": 8017, "userId": 8}),
    ("tasks.task.update", {"taskId": 8017, "fields": {"deadLine": "2027-01-01T00:00:00+03:00"}}),
    ("crm.entity.mergeBatch", {"params": {"entityTypeId": 2, "entityIds": [481, 500]}}),
    ("crm.activity.add", {"fields": {"OWNER_ID": 481, "OWNER_TYPE_ID": 2, "TYPE_ID": 4, "DIRECTION": 2, "COMPLETED": "Y"}}),
    ("event.bind", {"event": "ONCRMDEALADD", "handler": "https://portal.example.evil.io"}),
    ("event.offline.get", {"clear": 1}),
    ("user.update", {"ID": 7, "ACTIVE": "N"}),
    ("batch", {"cmd": {"a": "batch?cmd[x]=crm.deal.delete%3Fid%3D481"}}),
    ("batch", {"cmd": ["crm.deal.delete?id=481"]}),
    ("batch", {"cmd": {"a": "crm.deal.get?id=481", "b": "crm%2Edeal.delete?id=481"}}),
    ("batch", {"cmd": {"a": "crm.deal.update?id=481&fields%5BOPPORTUNITY%5D=1"}}),
    ("batch", {"cmd": {"a": "crm.deal.update?id=481&fields[OPPORTUNITY]=1000000&fields[OPPORTUNITY]=1"}}),
    ("batch", {"cmd": {"a": "crm.deal.update?id=481&fields[TITLE]=x;fields[OPPORTUNITY]=1&fields[OPPORTUNITY]=2"}}),
    ("batch", {"cmd": {"a": "crm.deal.update?id=481&+fields[OPPORTUNITY]=1"}}),
    ("batch", {"cmd": {"a": "crm.deal.update?id=481&FIELDS[OPPORTUNITY]=1"}}),
    ("batch", {"cmd": {f"k{number:02}": "crm.deal.get?id=481" for number in range(49)} | {"z": "crm.deal.delete?id=481"}}),
    ("batch", {"cmd": {"a": "crm.deal.list", "b": "crm.deal.delete?id=$result[a][0][ID]"}}),
    ("batch", {"cmd": {"a": "crm.deal.list", "b": "crm.deal.update?id=$RESULT[a][0][ID]&fields[TITLE]=x"}}),
    ("batch", {"cmd": {"a": "crm.deal.list", "b": "crm.deal.update?id=%2524result%255Ba%255D&fields[TITLE]=x"}}),
]


@pytest.mark.req("S004-25", "S004-27", "S004-28", "S004-69", "S004-A5", "S004-X11")
@pytest.mark.parametrize(("method", "params"), HOSTILE)
@pytest.mark.parametrize("confirmed", [False, True])
def test_no_disguise_gets_through(method: str, params: dict[str, Any], *, confirmed: bool) -> None:
    """Each of these changes something that matters, or hides it: none of them just runs, whatever the model claims."""
    for actor in (ANNA, LEAD):
        verdict = judged(effect(method, params, confirmed=confirmed, confirmation_decision="approve"), actor=actor)
        assert not isinstance(verdict, Allow), said(verdict)
