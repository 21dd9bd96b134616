"""The difference of two versions of a definition."""

from orchestrator.definitions.reader import Change, list_changes


def test_each_difference_is_told_with_its_path() -> None:
    """What was added, removed and changed is told once each, with the place and both values."""
    before = {"id": "a", "steps": [{"id": "one", "limit": 1}], "gone": None}
    after = {"steps": [{"id": "one", "limit": True}, {"id": "two"}], "id": "a", "new": 0}
    assert list(list_changes(before, after)) == [
        Change(kind="changed", path=("steps", 0, "limit"), before=1, after=True),
        Change(kind="added", path=("steps", 1), after={"id": "two"}),
        Change(kind="removed", path=("gone",), before=None),
        Change(kind="added", path=("new",), after=0),
    ]


def test_the_order_of_keys_is_no_difference() -> None:
    """Documents that hold the same under other order of keys have no changes."""
    assert list(list_changes({"a": 1, "b": [2]}, {"b": [2], "a": 1})) == []


def test_another_kind_of_value_is_one_change() -> None:
    """A mapping in place of a list is one change of the whole place."""
    assert list(list_changes([], {})) == [Change(kind="changed", path=(), before=[], after={})]
