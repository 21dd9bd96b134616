"""Parts of a session's state: a changed copy."""

from dataclasses import FrozenInstanceError, fields, replace

import pytest

from state.model import run_state, schedule_state, session_state
from state.model.card import Card
from state.stored import Stored

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
