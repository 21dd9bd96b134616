"""What the parameters of a call mean is looked up once, and a call with other parameters or another method is looked up anew."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.gate.call import lookup, targets
from orchestrator.gate.call.effect import Call
from orchestrator.gate.call.serialization import decode_call, encode_call
from tests.unit.gate.gate_kit import call, catalogue

CATALOGUE = catalogue()
DEAL = ("crm.deal.update", {"id": 481, "fields": {"TITLE": "Ромашка"}})
ITEM = ("crm.item.update", {"entityTypeId": 177, "id": 5, "fields": {"title": "Договор"}})
TASK = ("tasks.task.update", {"taskId": 8017, "fields": {"TITLE": "Позвонить", "UF_CRM_TASK": ["D_481"]}})
ACTIVITY = ("crm.activity.add", {"fields": {"OWNER_TYPE_ID": 2, "OWNER_ID": 481, "TYPE_ID": 2, "SUBJECT": "Звонок"}})


def _restore(normalized: Call) -> Call:
    return decode_call(encode_call(normalized), CATALOGUE)


def _put(made: Call, path: str, value: object) -> dict[str, Any]:
    head, _, rest = path.partition(".")
    inner = {**made.params[head], rest: value} if rest else value
    return {**made.params, head: inner}


@pytest.mark.req("G1")
@pytest.mark.parametrize("restored", [False, True], ids=["proposed", "restored"])
@pytest.mark.parametrize(
    ("asked", "path", "value", "records", "ties"),
    [
        (DEAL, "id", 482, (("deal", 482),), ()),
        (DEAL, "id", None, (), ()),
        (ITEM, "id", 6, (("item:177", 6),), ()),
        (ITEM, "entityTypeId", 2, (("deal", 5),), ()),
        (ITEM, "entityTypeId", True, (), ()),
        (TASK, "taskId", 8018, (("task", 8018),), (("deal", 481),)),
        (TASK, "fields.UF_CRM_TASK", ["CO_3", "D_482"], (("task", 8017),), (("company", 3), ("deal", 482))),
        (ACTIVITY, "fields.OWNER_ID", 482, (("deal", 482),), ()),
        (ACTIVITY, "fields.OWNER_TYPE_ID", 3, (("contact", 481),), ()),
    ],
)
def test_a_copy_with_other_parameters_is_about_what_they_name(
    restored: bool,  # noqa: FBT001
    asked: tuple[str, dict[str, Any]],
    path: str,
    value: object,
    records: tuple[tuple[str, int], ...],
    ties: tuple[tuple[str, int], ...],
) -> None:
    """Rights, before-image and card follow the new record; that of before is forgotten, with its definition."""
    first = call(*asked)
    first = _restore(first) if restored else first
    changed = replace(first, params=_put(first, path, value))
    assert first.targets != changed.targets or first.ties != changed.ties
    assert (changed.targets, changed.ties) == (records, ties)
    assert changed.unknown_target is (records == ())
    assert set(changed.entities) >= {kind for kind, _ in (*records, *ties)}
    assert changed.lookup.params is changed.params
    assert changed.entity == (records[0][0] if asked is ITEM and records else changed.lookup.entity)


@pytest.mark.req("G1")
def test_a_copy_with_another_method_has_its_row_and_its_classes() -> None:
    """A deletion cannot pass as the update that it was copied from."""
    deleting = replace(call(*DEAL), method="crm.deal.delete")
    assert deleting.spec is CATALOGUE.find("crm.deal.delete")
    assert "D" in deleting.classes
    with pytest.raises(ValueError, match=r"crm\.deal\.vanish is not in the catalogue"):
        replace(call(*DEAL), method="crm.deal.vanish")


def test_a_copy_that_reaches_people_has_their_class() -> None:
    """The class of an activity follows from its parameters."""
    spec = next(method for method in CATALOGUE if method.inward)
    path, harmless = next(iter(spec.inward.items()))
    quiet = lookup.Lookup(spec=spec, params=_nest(path, harmless[0]), catalogue=CATALOGUE)
    first = Call.from_lookup(quiet, portal="")
    assert "N" not in first.classes
    assert "N" in replace(first, params=_nest(path, "99")).classes


def _nest(path: str, value: object) -> dict[str, Any]:
    head, _, rest = path.partition(".")
    return {head: {rest: value} if rest else value}


@pytest.mark.req("G1")
def test_a_command_of_a_batch_whose_record_changes_is_no_longer_about_the_new_one() -> None:
    """It was bound to the record that an earlier command creates."""
    cmd = {"a": "crm.deal.add?fields[TITLE]=X", "b": "crm.deal.update?id=$result[a]&fields[TITLE]=Y"}
    bound = call("batch", {"cmd": cmd}).commands[1]
    assert (bound.target_created, bound.unknown_target, bound.targets) == (True, True, ())
    renamed = replace(bound, params=_put(bound, "fields.TITLE", "Z"))
    assert (renamed.target_created, renamed.unknown_target, renamed.targets) == (True, True, ())
    moved = replace(bound, params=_put(bound, "id", 481))
    assert (moved.target_created, moved.unknown_target, moved.targets) == (False, False, (("deal", 481),))


def test_a_copy_about_the_same_record_keeps_what_was_stored_of_it() -> None:
    """What is stored counts as long as the parameters name the same: an approved call means what its card said."""
    stored = replace(_restore(call(*DEAL)), ties=(("contact", 43),))
    renamed = replace(stored, params=_put(stored, "fields.TITLE", "Мак"))
    assert (renamed.targets, renamed.ties, renamed.classes) == (stored.targets, (("contact", 43),), stored.classes)


def test_a_lookup_is_never_stored_nor_compared() -> None:
    """The bytes of a call, its checksums and its equality know nothing of it."""
    made = call(*DEAL)
    bare = replace(made, lookup=None)
    assert "lookup" not in encode_call(made)
    assert encode_call(bare) == encode_call(made)
    assert (bare, bare.fingerprint, bare.essence) == (made, made.fingerprint, made.essence)
    assert "lookup" not in repr(made)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the catalogue and the parameters were asked for kinds and records."""
    counts: Counter[str] = Counter()

    def count(module: Any, name: str) -> None:
        real = getattr(module, name)

        def counted(*given: Any, **more: Any) -> Any:
            counts[name] += 1
            return real(*given, **more)

        monkeypatch.setattr(module, name, counted)

    count(lookup, "find_entity_name")
    count(lookup, "find_bound_records")
    count(lookup, "read_places")
    count(targets, "find_entity_by_code")
    return counts


@pytest.mark.parametrize(
    ("method", "params", "calls"),
    [
        (*DEAL, 1),
        (*ITEM, 1),
        (
            "batch",
            {"cmd": {"a": "crm.deal.update?id=481&fields[TITLE]=X", "b": "crm.item.update?entityTypeId=2&id=481&fields[title]=Y"}},
            2,
        ),
    ],
)
def test_each_call_is_looked_up_once(asked: Counter[str], method: str, params: dict[str, Any], calls: int) -> None:
    """From the proposed parameters to the call that is judged."""
    call(method, params)
    assert asked["find_entity_name"] == calls
    assert asked["find_bound_records"] == calls
    assert asked["read_places"] == calls
    assert asked["find_entity_by_code"] == str(params).count("entityTypeId")
