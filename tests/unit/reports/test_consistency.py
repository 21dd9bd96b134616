"""Effects against their events: what a real conversation did is consistent, and each step left out, doubled or changed is named."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, get_args

import pytest

from orchestrator.reports.consistency import EffectChecker
from state.journal.store import EffectRow, EffectStatus, StoredEvent
from state.sql import build_sqlite_url, open_reader
from tests.unit.verify_kit import STREAM, conversation

Events = list[StoredEvent]
Rows = list[EffectRow]


@pytest.fixture(scope="module")
def happened(tmp_path_factory: pytest.TempPathFactory) -> tuple[Events, Rows]:
    """The events and effects of a real conversation."""
    path = tmp_path_factory.mktemp("consistency") / "sdelka.db"
    conversation(path)
    store = open_reader(build_sqlite_url(path))
    rows = [row for status in get_args(EffectStatus) for row in store.list_effects(STREAM, status)]
    events = store.read_events(STREAM)
    store.close()
    return events, rows


def judged(events: Sequence[StoredEvent], rows: Sequence[EffectRow]) -> list[str]:
    """What is found, in words."""
    effects = EffectChecker(STREAM)
    for event in events:
        effects.add_event(event)
    found = list(effects.list_findings(rows))
    assert {item.kind for item in found} <= {"inconsistent"}
    return [item.why for item in found]


def first(events: Events, type_: str, **having: Any) -> int:
    """The place of the first event of that type."""
    return next(
        at for at, item in enumerate(events) if item.type == type_ and all(item.data.get(key) == value for key, value in having.items())
    )


def carded(events: Events) -> int:
    """The place of the first start that had a card."""
    return next(at for at, item in enumerate(events) if item.type == "CallStarted" and item.data["confirmation_id"])


def changed(events: Events, at: int, **data: Any) -> Events:
    """The events with other data in one of them."""
    return [*events[:at], events[at]._replace(data={**events[at].data, **data}), *events[at + 1 :]]


def without(events: Events, at: int) -> Events:
    """The events but one."""
    return [*events[:at], *events[at + 1 :]]


@pytest.mark.long
def test_what_the_gate_did_is_consistent(happened: tuple[Events, Rows]) -> None:
    """Nothing is found in an honest conversation, reads and a waiting card included."""
    events, rows = happened

    assert judged(events, rows) == []
    assert {row.status for row in rows} == {"succeeded", "denied", "requested"}


SLIPS: dict[str, tuple[Callable[[Events], Events], str]] = {
    "no intent": (lambda all_: without(all_, carded(all_)), "CallSucceeded came when it stood as approved"),
    "intent twice": (lambda all_: [*all_[: carded(all_) + 1], *all_[carded(all_) :]], "CallStarted came when it stood as started"),
    "no approval": (lambda all_: without(all_, first(all_, "ConfirmationApproved")), "it was started with a card that nobody had approved"),
    "approval after the start": (
        lambda all_: [*without(all_, first(all_, "ConfirmationApproved")), all_[first(all_, "ConfirmationApproved")]],
        "it was started with a card that nobody had approved",
    ),
    "approved by the model": (lambda all_: changed(all_, first(all_, "ConfirmationApproved"), via="model"),
     "its approval is not by the person whose act it was recorded as"),
    "another call than shown": (lambda all_: changed(all_, carded(all_), fingerprint="0" * 64),
     "what was started is not what was approved: another fingerprint or another card"),
    "four eyes that were two": (lambda all_: changed(all_, first(all_, "ConfirmationRequested"), four_eyes=True),
     "another person had to approve it, and the one who asked did"),
    "money without a card": (lambda all_: changed(all_, first(all_, "CallStarted"), call_class="WM"),
     "a call of class WM was started without a card that a person approved"),
    "run in shadow": (lambda all_: changed(all_, first(all_, "PlanRecorded"), mode="shadow"),
     "it was started although its plan was made in shadow mode, which only records"),
    "outcome twice": (lambda all_: [*all_, all_[first(all_, "CallSucceeded", call_class="W")]],
     "CallSucceeded came when it stood as succeeded"),
    "denied and run": (lambda all_: [*all_[: carded(all_)], as_denied(all_), *all_[carded(all_) :]],
     "ConfirmationDenied came when it stood as approved"),
}  # fmt: skip


def as_denied(events: Events) -> StoredEvent:
    """A denial of what was approved first."""
    data = {**events[carded(events)].data, "denied_by": "tg:1007", "via": "button"}
    return events[carded(events)]._replace(type="ConfirmationDenied", data=data)


@pytest.mark.req("G2")
@pytest.mark.parametrize("slip", SLIPS)
def test_each_slip_is_named(slip: str, happened: tuple[Events, Rows]) -> None:
    """An effect that went a way the gate does not let effects go."""
    events, rows = happened
    change, why = SLIPS[slip]

    assert why in judged(change(events), rows)


ROWS: dict[str, tuple[Callable[[Rows], Rows], str]] = {
    "no row": (lambda all_: all_[1:], "the effects table has no row for it"),
    "a row of nothing": (
        lambda all_: [*all_, replace(all_[0], effect_id="f" * 32)],
        "the effects table has a row for it, and no event tells of it",
    ),
    "another status": (lambda all_: [replace(all_[0], status="unknown"), *all_[1:]], "the effects table says unknown, the events say"),
    "another fingerprint": (lambda all_: [replace(all_[0], fingerprint="x"), *all_[1:]], "differ: fingerprint"),
    "another sum": (
        lambda all_: [replace(all_[0], call={**all_[0].call, "call": {**all_[0].call["call"], "params": {}}}), *all_[1:]],
        "differ: params, the fingerprint of its call",
    ),
    "another before-image": (lambda all_: [replace(all_[0], call={**all_[0].call, "before": {"x": 1}}), *all_[1:]], "differ: before"),
}


@pytest.mark.parametrize("slip", ROWS)
def test_a_row_that_belies_the_events_is_named(slip: str, happened: tuple[Events, Rows]) -> None:
    """Both directions: a row without events, events without a row, and each thing that a row says too."""
    events, rows = happened
    change, why = ROWS[slip]
    found = judged(events, change(rows))

    assert len(found) == 1
    assert why in found[0]


@pytest.mark.long
def test_an_unknown_outcome_may_be_settled_once(happened: tuple[Events, Rows]) -> None:
    """Started → unknown → (unclear) → done is a way that effects go; what is settled is not settled again."""
    events, rows = happened
    at = first(events, "CallSucceeded", call_class="W")
    data = events[at].data
    unknown = events[at]._replace(type="CallOutcomeUnknown", data={**data, "detail": "x"})
    settled = [events[at]._replace(type="OutcomeReconciled", data={**data, "verdict": verdict}) for verdict in ("unclear", "done", "done")]

    assert judged([*events[:at], unknown, *settled[:2], *events[at + 1 :]], rows) == []
    assert "OutcomeReconciled came when it stood as succeeded" in judged([*events[:at], unknown, *settled, *events[at + 1 :]], rows)
