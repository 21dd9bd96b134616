"""The whole catalogue, row by row, through the gate: every mode, every kind of person, alone and inside a batch."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from bitrix.catalogue.catalogue import Catalogue, Method
from bitrix.client.batch import Command, build_cmd
from orchestrator.domain.actor import Actor, Mode
from orchestrator.gate.call.effect import Allow, Ask, Call, Facts, PlanOnly, Refuse, Verdict, Whole
from orchestrator.gate.call.held_parts import list_part_reads
from orchestrator.gate.call.policy import Policy, load_policy
from orchestrator.gate.decide.decide import decide
from orchestrator.gate.normalize.normalize import normalize
from tests.unit.gate.gate_kit import ANNA, FIRST, LEAD, PORTAL, catalogue, effect, made, minimal, said

ROWS = sorted((row for row in catalogue() if row.name != "batch"), key=lambda row: row.name)
NAMES = frozenset(row.name for row in ROWS)
ADMIN = Actor(key="admin", name="Олег", role="admin", bitrix_user_id=5, sees="all")
PEOPLE = {"manager": ANNA, "lead": LEAD, "admin": ADMIN}
SEE_ALL = ("lead", "admin")
MODES: tuple[Mode, ...] = ("shadow", "canary", "full")
SHIPPED = load_policy(None)
HOSTS = Policy(event_handler_hosts=frozenset({"hooks.example.com"}))
OPEN = Policy(open_methods=NAMES, event_handler_hosts=HOSTS.event_handler_hosts)
FAMILIES = sorted({row.name.partition(".")[0] for row in ROWS})
OUTWARD = frozenset({"C", "M", "N"})


def _put(params: dict[str, Any], path: str, value: Any) -> None:
    """Set the value under a dotted path."""
    head, _, rest = path.partition(".")
    inner = params.get(head)
    params[head] = {**(inner if isinstance(inner, Mapping) else {}), rest: value} if rest else value


def sample(row: Method, record: int = 481) -> dict[str, Any]:
    """Parameters of a plain call of any row; where the row names a record, it is the deal 481 or the user of that number."""
    params = minimal(row)
    if row.target_entity.startswith("@"):
        _put(params, row.target_entity[1:], "user" if row.target_entity == "@type" else "deal")
    for path in row.target[:1]:
        _put(params, path, record)
    return params


def _facts(call: Call, owner: int) -> Facts:
    """Every record that the call names is there, and belongs to `owner`."""
    owned = {entity.owner_field: str(owner) for entity in call.entities.values()}
    records = {target: {"ID": "481", **owned} for target in (*call.targets, *call.ties)}
    wholes = {target: Whole(target=("deal", 481), is_visible=owner == 7) for target in call.targets}
    events = {
        read.part: {"CAL_TYPE": "user", "OWNER_ID": str(owner)} for read in list_part_reads(call) if read.method == "calendar.event.getbyid"
    }
    return Facts(records=records, wholes=wholes, own_parts=frozenset(wholes), parts=events, first_stages=FIRST)


@cache
def calls(name: str, who: str) -> dict[str, Call | Refuse]:
    """The row of that name, alone and as the one command of a batch."""
    row, actor = catalogue().find(name), PEOPLE[who]
    cmd = build_cmd([Command("a", row.name, sample(row))])
    return {"alone": made(effect(row.name, sample(row)), actor=actor), "batch": made(effect("batch", {"cmd": cmd}), actor=actor)}


def verdict(found: Call | Refuse, actor: Actor, *, mode: Mode = "full", policy: Policy = HOSTS, owner: int = 7) -> Verdict:
    """What the gate says; a refusal by normalising stands."""
    if isinstance(found, Refuse):
        return found
    return decide(found, mode=mode, policy=policy, actor=actor, facts=_facts(found, owner), effect=effect(found.method, dict(found.params)))


def walk(family: str) -> Iterator[tuple[Method, str, Actor, str, Call | Refuse]]:
    """Each row of a family, for each person, alone and in a batch."""
    for row in ROWS:
        if row.name.partition(".")[0] == family:
            for who, actor in PEOPLE.items():
                for how, found in calls(row.name, who).items():
                    yield row, who, actor, how, found


@pytest.mark.long
@pytest.mark.req("S004-3", "S004-24", "S004-28")
@pytest.mark.parametrize("family", FAMILIES)
def test_every_row_has_a_call_and_no_mode_lets_through_what_it_must_not(family: str) -> None:
    """Shadow plans; canary runs reads and safe creates; full asks for what matters; deletions and closed rows are refused."""
    for row, who, actor, how, found in walk(family):
        where = (row.name, who, how)
        assert isinstance(found, Call), (where, found)
        said_by = {mode: verdict(found, actor, mode=mode) for mode in MODES}
        assert isinstance(said_by["shadow"], PlanOnly | Refuse), where
        if isinstance(said_by["canary"], Allow | Ask):
            assert row.reads_only or (row.safe_create and set(found.classes) == {"W"}), where
        if row.closed or "D" in row.classes:
            assert all(isinstance(one, Refuse) for one in said_by.values()), where
        if OUTWARD & set(row.classes) or row.asks:
            assert not isinstance(said_by["full"], Allow), where
        if not row.reads_only and not row.safe_create:
            assert isinstance(said_by["canary"], Refuse), where


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES)
def test_who_sees_all_is_never_refused_an_open_row(family: str) -> None:
    """A lead and an administrator read everything, and may ask for every change that is not closed."""
    for row, who, actor, how, found in walk(family):
        if who not in SEE_ALL or row.closed or "D" in row.classes or row.rights:
            continue
        judged = verdict(found, actor)
        assert isinstance(judged, Allow) if row.reads_only else isinstance(judged, Allow | Ask), (row.name, who, how, said(judged))
        if OUTWARD & set(row.classes) or row.asks:
            assert isinstance(judged, Ask), (row.name, who, how)


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES)
def test_an_opened_deletion_asks_twice_and_an_opened_row_of_weight_asks(family: str) -> None:
    """The policy opens the question, never the deed: D needs a second tap, C, M and N one."""
    for row, who, actor, how, found in walk(family):
        if who not in SEE_ALL or not (row.closed or "D" in row.classes) or row.rights:
            continue
        judged = verdict(found, actor, policy=OPEN)
        assert isinstance(judged, Allow | Ask), (row.name, who, how, said(judged))
        if set(row.classes) & {"D", *OUTWARD} or row.asks:
            assert isinstance(judged, Ask), (row.name, who, how)
            assert judged.taps == (2 if "D" in row.classes else 1), (row.name, who, how)


@pytest.mark.req("S004-26")
@pytest.mark.parametrize("family", FAMILIES)
def test_a_link_to_an_own_deal_opens_reads_that_say_so_and_nothing_else(family: str) -> None:
    """Every record of somebody else counts as linked here, under the shipped policy: no write of the catalogue gets milder by that."""
    for row, who, actor, how, found in walk(family):
        if who != "manager" or isinstance(found, Refuse):
            continue
        plain = _facts(found, 8)
        linked = replace(plain, linked=frozenset([*found.targets, ("deal", 481)]))
        given = effect(found.method, dict(found.params))
        without, by_link = (decide(found, mode="full", policy=SHIPPED, actor=actor, facts=facts, effect=given) for facts in (plain, linked))
        if by_link != without:
            assert row.linked, (row.name, how)
            assert row.reads_only, (row.name, how)
    assert all(row.reads_only for row in ROWS if row.linked)


@pytest.mark.req("S004-26")
@pytest.mark.parametrize("family", FAMILIES)
def test_who_sees_own_records_meets_nobody_elses(family: str) -> None:
    """A manager: what cannot be checked is refused, one's own record is fine, another's is not, a list is limited to oneself."""
    for row, who, actor, how, found in walk(family):
        if who != "manager" or row.closed or "D" in row.classes or row.rights:
            continue
        mine, foreign = (verdict(found, actor, owner=owner) for owner in (7, 8))
        where = (row.name, how, said(mine))
        match row.owner:
            case "unscoped":
                assert said(mine) == ["gate-unscoped"], where
            case "record" | "part" | "author":
                assert not isinstance(mine, Refuse), where
                assert said(foreign) == ["gate-not-yours"], (row.name, how)
            case "event":
                assert not isinstance(mine, Refuse), where
                assert said(foreign) == ["gate-unscoped"], (row.name, how)
            case "filter":
                assert isinstance(mine, Allow), where
                assert found.leaves[0].params["filter"] == {row.owner_filter.lstrip("@"): 7}, where
            case "self":
                assert isinstance(mine, Refuse) == bool(row.target), where
            case "reference":
                assert row.reads_only, where
                assert isinstance(mine, Allow), where


def test_a_persons_own_calendar_and_working_day_are_open() -> None:
    """Rows about a user are fine when that user is the speaker, in batches too."""
    rows = [row for row in ROWS if row.owner == "self" and row.target and not row.closed and "D" not in row.classes]
    assert len(rows) > 5
    for row in rows:
        assert not isinstance(verdict(made(effect(row.name, sample(row, 7)), actor=ANNA), ANNA), Refuse), row.name


@pytest.mark.long
def test_in_a_batch_a_row_is_judged_as_it_is_alone() -> None:
    """Hiding a call in a batch gains and loses nothing, for anybody, in any mode."""
    for row in ROWS:
        for who, actor in PEOPLE.items():
            found = calls(row.name, who)
            for mode in MODES:
                alone, batch = (verdict(found[how], actor, mode=mode) for how in ("alone", "batch"))
                assert type(alone) is type(batch), (row.name, who, mode, said(alone), said(batch))


@pytest.mark.req("S004-27")
def test_a_row_answers_to_its_name_in_any_case() -> None:
    """Another case is the same call, down to the fingerprint."""
    for row in ROWS:
        plain = calls(row.name, "lead")["alone"]
        loud = made(effect(row.name.swapcase(), sample(row)), actor=LEAD)
        assert isinstance(plain, Call)
        assert isinstance(loud, Call), row.name
        assert loud.fingerprint == plain.fingerprint, row.name
        assert plain.portal == PORTAL


@pytest.mark.req("S004-27", "S004-69")
@pytest.mark.parametrize("odd", ["{}.json", "{}/", "{}.zz"])
def test_a_second_spelling_of_any_row_is_refused(odd: str) -> None:
    """The portal would answer to `x.json` and `x/` as to `x`; the gate does not, and an unlisted name is refused."""
    for row in ROWS:
        only = Catalogue([row], catalogue().entities)  # the refusal looks for a similar name, which takes long among all of them
        found = normalize(effect(odd.format(row.name), sample(row)), catalogue=only, portal=PORTAL, actor=LEAD, effect_id="e1")
        assert isinstance(found, Refuse), row.name
        assert found.reason.code in {"gate-method-odd", "gate-method-unknown"}, row.name
