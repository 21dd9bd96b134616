"""Canonical JSON refuses what readers disagree about; time and ids sort as they were made; a changed copy changes its part alone."""

import json
import math
from dataclasses import FrozenInstanceError, fields, replace
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from state import canonical, clock
from state.model import run_state, schedule_state, session_state
from state.model.card import Card
from state.stored import Stored
from tests.fixed_clock import FixedClock

SAFE = 2**53 - 1
text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
numbers = st.integers(-SAFE, SAFE) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | text, lambda inner: st.lists(inner) | st.dictionaries(text, inner), max_leaves=8
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(values)
def test_canonical_text_is_read_back_and_written_the_same(value: object) -> None:
    """What is accepted comes back equal, and its text depends on nothing but the value."""
    written = canonical.dumps(value)

    assert canonical.loads(written) == value
    assert canonical.dumps(json.loads(written)) == written
    canonical.check(value)


def test_keys_are_sorted_and_text_is_not_escaped() -> None:
    """One value has one text."""
    assert canonical.dumps({"b": 1, "a": {"я": None, "а": "\\u0000"}}) == '{"a":{"а":"\\\\u0000","я":null},"b":1}'


@pytest.mark.parametrize(
    "bad",
    [
        math.nan,
        {"sum": [1, math.inf]},
        SAFE + 1,
        {"id": -(2**60)},
        2**70,
        "a\x00b",
        {"a\x00": 1},
        ["\ud800"],
        {"\udfff": 1},
        {1: 2},
        b"bytes",
        {1, 2},
        datetime(2026, 1, 1, tzinfo=UTC),
    ],
    ids=repr,
)
def test_what_readers_disagree_about_is_refused(bad: object) -> None:
    """Both by writing and by the check at the door."""
    with pytest.raises(canonical.NotCanonical):
        canonical.dumps(bad)
    with pytest.raises(canonical.NotCanonical):
        canonical.check(bad)


@settings(max_examples=60, deadline=None)
@given(st.text())
def test_cleaned_text_can_always_be_stored(strange: str) -> None:
    """A stranger's message never breaks the journal."""
    assert canonical.loads(canonical.dumps(canonical.to_storable_text(strange))) == canonical.to_storable_text(strange)


@pytest.mark.req("S004-53")
def test_moments_are_utc_with_z_and_sort_as_text() -> None:
    """Any zone is written as UTC, in one width, and read back as the same moment."""
    moscow = timezone(timedelta(hours=3))
    moments = [datetime(2026, 11, 21, 15, 0, tzinfo=moscow), datetime(2026, 11, 21, 12, 0, 0, 1, tzinfo=UTC)]
    written = [clock.format_iso(moment) for moment in moments]

    assert written == ["2026-11-21T12:00:00.000000Z", "2026-11-21T12:00:00.000001Z"]
    assert [clock.parse_iso(item) for item in written] == moments
    with pytest.raises(ValueError, match="without a zone"):
        clock.parse_iso("2026-11-21T12:00:00")


@given(st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30)), timezone(timedelta(hours=-9))])))
def test_every_time_is_written_with_six_digits_after_the_second(moment: datetime) -> None:
    """Also a whole second: texts of another width would sort wrongly."""
    moment = moment.replace(year=max(2, min(9998, moment.year)))
    for one in (moment, moment.replace(microsecond=0)):
        assert clock.format_iso(one) == one.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def test_clocks() -> None:
    """The machine's clock is aware; a fixed one moves only when told, back too."""
    fixed = FixedClock(datetime(2026, 11, 21, tzinfo=UTC))
    fixed.advance(timedelta(hours=-1))

    assert clock.SystemClock().now().utcoffset() == timedelta(0)
    assert fixed.now() == datetime(2026, 11, 20, 23, tzinfo=UTC)


def test_ids_are_uuid7_unique_and_sort_by_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Version and variant are right, a thousand are different, a later millisecond sorts later."""
    made = [clock.generate_id() for _ in range(1000)]
    assert len(set(made)) == 1000
    assert {(UUID(item).version, UUID(item).variant) for item in made} == {(7, UUID(int=0x8 << 60).variant)}

    moments = iter([1_000_000_000_000_000_000, 1_000_000_000_001_000_000, 1_700_000_000_000_000_000])
    monkeypatch.setattr(clock.time, "time_ns", lambda: next(moments))
    early = [clock.generate_id() for _ in range(3)]
    assert early == sorted(early)


KINDS = {
    one
    for module in (run_state, schedule_state, session_state)
    for one in vars(module).values()
    if isinstance(one, type) and issubclass(one, Stored) and one is not Stored
}
CARD = Card.create(confirmation_id="a", status="requested", params={"id": 7})


@pytest.mark.parametrize("kind", sorted(KINDS | {Card}, key=lambda kind: kind.__name__))
def test_a_changed_copy_is_what_replace_makes(kind: type[Stored]) -> None:
    """For each field of each kind: that field is new and is stored, all others are as they were."""
    names = [one.name for one in fields(kind) if one.name != "stored_keys"]
    whole = kind.create(**{name: f"{name} before" for name in names})
    for name in names:
        changed = whole.with_values(**{name: "now"})
        assert type(changed) is kind
        assert changed == replace(whole, **{name: "now"})
        assert getattr(whole, name) == f"{name} before"


def test_a_field_that_was_not_stored_is_stored_once_it_is_set() -> None:
    """After those that were, in the order in which they were given."""
    changed = CARD.with_values(nonce="x", status="approved", approved_by="tg:7")
    assert list(changed.to_stored()) == ["confirmation_id", "status", "params", "nonce", "approved_by"]
    assert list(CARD.to_stored()) == ["confirmation_id", "status", "params"]


@pytest.mark.parametrize("keys", [(), ("nonce",), ("status", "nonce"), ("nonce", "status", "via")])
def test_what_is_stored_are_the_keys_that_are_stored_and_no_others(keys: tuple[str, ...]) -> None:
    """In their order, for no key, one and several; what is left out is left out."""
    card = Card(confirmation_id="a", stored_keys=keys, status="approved", nonce="x", via="button")
    whole = {"status": "approved", "nonce": "x", "via": "button"}
    assert list(card.to_stored().items()) == [(key, whole[key]) for key in keys]
    assert list(card.to_stored_without("status", "preview").items()) == [(key, whole[key]) for key in keys if key != "status"]


def test_a_copy_cannot_be_changed_in_place_and_has_no_other_fields() -> None:
    """As little as what it was made from."""
    changed = CARD.with_values(status="approved")
    with pytest.raises(FrozenInstanceError):
        changed.status = "denied"  # type: ignore[misc]  # it is frozen
    with pytest.raises(KeyError):
        CARD.with_values(colour="red")
