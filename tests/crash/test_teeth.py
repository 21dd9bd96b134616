"""Faults planted on purpose: each is found at the place it is about, and (long form) without being told where to look."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import pytest

from tests.crash import lab_run_faults
from tests.crash.lab import one_run
from tests.crash.lab_checks import findings
from tests.crash.lab_faults import FAULTS
from tests.crash.lab_walk import Lab, Plan, calls, death, in_short, name_places, places, troubles_in_short

LONG = 1800
ACTED = death("send(crm.deal.add):acted")


def call(how: str, calls: str, at: int = 1, times: int = 1) -> Plan:
    """Trouble with the system's calls."""
    return {"more": {"call": {"how": how, "calls": calls, "at": at, "times": times}}}


def from_place(place: str, how: str, calls: str, times: int) -> Plan:
    """The same from a place on."""
    return {"more": {"disk": {"from": place, "how": how, "calls": calls, "times": times}}}


TEETH: dict[str, tuple[str, Plan]] = {
    "intent_after_send": ("add", {"kills": [ACTED]}),
    "retry_unknown": ("add", {"trouble": ("cut", 3)}),
    "no_compare_and_set": ("add", {}),
    "recovery_resends": ("add", {"kills": [ACTED]}),
    "recovery_guesses": ("add", {"kills": [death("send(crm.deal.add):before")]}),
    "outbox_apart": ("deny", {"kills": [death("~TurnFinished.*:after")]}),
    "model_asked_again": ("free", {"kills": [death("~ModelAnswered.*:after")]}),
    "model_asked_twice": ("one", {}),
    "early_acknowledgement": ("deny", {"kills": [death("put_inbox(message):before")]}),
    "half_a_step": ("sum", from_place("~CallStarted.*:before", "half", "flush sdelka.db-wal", 1)),
    "no_journal": ("sum", {"more": {"disk": {"from": "~TurnFinished.*:before", "how": "before", "calls": "write sdelka.db ", "at": 4}}}),
    "snapshot_ahead": ("presses-0", {}),
    "errors_ignored": ("sum", from_place("~CallStarted.*:before", "eio", "flush sdelka.db-wal", 1)),
    "handle_kept": ("sum", from_place("~CallStarted.*:before", "eio", "flush sdelka.db-wal", 1)),
    "intent_optional": ("sum", from_place("~CallStarted.*:before", "nospace", "write sdelka.db-wal", 3)),
    "unstored_acknowledged": ("sum", from_place("put_inbox(message):before", "nospace", "write sdelka.db-wal", 1)),
    "inbox_doubles": ("one", {"kills": [death("put_inbox(message):after")]}),
    "nonce_ignored": ("presses-0", {}),
    "entitlement_ignored": ("presses-1", {}),
    "expiry_ignored": ("sum", {"more": {"jump": {"at": "~put_inbox.decision.*:after", "seconds": 2 * 86400.0}}}),
    "drift_ignored": ("drift", {}),
    "paste_apart": ("paste", {"kills": [death("commit():after")]}),
    "edit_apart": ("edit", {"kills": [death("~ConfirmationRequested.*card,card.:after")]}),
    "undo_blind": ("undo-changed", {}),
    "undo_found_alone": ("undo", {"trouble": ("cut", 5)}),
    "reason_apart": ("lead-no", {"kills": [death("~commit.DenialReasonGiven.:after")]}),
    "forward_every_time": ("forward-create", {}),
    "again_every_time": ("again-expired", {}),
    "go_on_apart": ("go-on-free", {"kills": [death("~CallSucceeded.*->succeeded.*card.*:after")]}),
    "go_on_forgotten": ("go-on-free", {"kills": [death("~TurnResumed.*:after")]}),
    "go_on_early": ("go-on-apart", {}),
    "told_again": ("go-on-free", {}),
    "told_as_first": ("go-on-edit", {}),
}
BY_CALLS = {"half_a_step", "no_journal", "errors_ignored", "handle_kept", "intent_optional", "unstored_acknowledged"}
"""Found by what the shim does or sees."""


async def _of(lab: Lab, script: str, plan: Plan, fault: str = "") -> list[str]:
    return findings(await lab.run(script, fault=fault, **plan))


@pytest.mark.req("G2")
@pytest.mark.parametrize("fault", TEETH)
async def test_the_lab_has_teeth(fault: str, lab: Lab) -> None:
    """A planted fault is found at the place it is about, and by no more than that: not without the trouble, which finds nothing without it."""
    if fault in BY_CALLS and lab.nursery.shim is None:
        pytest.skip("no C compiler on this machine: this fault shows in the calls of the system only")
    script, plan = TEETH[fault]
    found = await _of(lab, script, plan, fault)
    lab.fault(caught=found != [])
    assert found != []
    assert await _of(lab, script, plan) == []
    if plan:
        alone = await lab.run(script, fault=fault)
        assert findings(replace(alone, trace=())) == []  # the order of the calls may show it even so


@pytest.mark.req("G2")
async def test_a_chain_that_nobody_checks(lab: Lab) -> None:
    """A character changed in a stored record is found, unless the check was taken out."""
    found = [await _damaged(lab, fault) for fault in ("", "no_hash_check")]
    lab.fault(caught=found == [True, False])
    assert found == [True, False]


async def _damaged(lab: Lab, fault: str) -> bool:
    """Whether a changed record is found by the program that starts on it."""
    folder = lab.folder / f"damaged{fault}"
    await one_run(lab.nursery, folder, "one")
    with closing(sqlite3.connect(folder / "sdelka.db")) as connection:
        connection.execute("update events set actor = 'tg:9' where seq = 2 and stream = 'session:tg:7'")
        connection.commit()
    run = await one_run(lab.nursery, folder, "one", fault=fault)
    return any("is damaged" in text for text in findings(run))


def test_every_fault_is_about_something() -> None:
    """Each planted fault is in a test: here, by the order of calls alone, or as the second net."""
    elsewhere = {"", "no_flush", "lazy_flush", "objection_ignored", "no_hash_check"}
    of_runs = {made.__name__ for made in lab_run_faults.PLANTED}  # test_runs.py
    assert set(FAULTS) == set(TEETH) | elsewhere | of_runs


@pytest.mark.crash_long
@pytest.mark.timeout(LONG)
@pytest.mark.req("G2")
@pytest.mark.parametrize("fault", TEETH)
async def test_the_walk_finds_the_fault(fault: str, lab: Lab) -> None:
    """Without being told where to look, the walk of the short form comes upon every planted fault, as it would if the program had it."""
    script, told = TEETH[fault]
    run = await lab.run(script, fault=fault)
    if findings(run):
        lab.tell(f"long, teeth: {fault} found where nothing befell the run")
        lab.fault(caught=True)
        return
    plans: list[Any] = [*places(run, in_short), *troubles_in_short(run)]
    if fault in BY_CALLS and lab.nursery.shim is not None:
        plans[:0] = _by_calls(calls(await lab.untouched(script)))
    if fault == "expiry_ignored":
        plans[:0] = [{"more": {"jump": {"at": at, "seconds": told["more"]["jump"]["seconds"]}}} for _, at in name_places(run, in_short)]
    for number, plan in enumerate(plans, start=1):
        if await _of(lab, script, plan, fault):
            lab.tell(f"long, teeth: {fault} found by plan {number} of {len(plans)}")
            lab.fault(caught=True)
            return
    lab.fault(caught=False)
    pytest.fail(f"{fault} was not found by {len(plans)} plans")


def _by_calls(made: list[str]) -> list[Plan]:
    """No space, a failing flush and death, now here and now there; also death between two writes to the database itself."""
    writes = sum(line == "write sdelka.db-wal" for line in made)
    flushes = sum(line == "flush sdelka.db-wal" for line in made)
    full = [call("nospace", "write sdelka.db-wal", at, 3) for at in range(4, writes, 5)]
    failing = [call("eio", "flush sdelka.db-wal", at) for at in range(2, flushes, 3)]
    dying = [call("half", "flush sdelka.db", at) for at in range(2, flushes)]
    torn = [call("before", "write sdelka.db ", at) for at in range(4, writes, 5)]
    return [plan for several in zip_longest(full, failing, dying, torn) for plan in several if plan]
