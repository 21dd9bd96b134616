"""What a person has begun today is counted on in a database that was restored or moved: a cap is not had twice."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from state.journal.daily_count import StartCount
from state.journal.store import CapReached, Commit, EffectChange
from state.transfer.move import move_database
from tests.unit.state.transfer.moving_kit import Home, Homes

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def begin(home: Home, effect_id: str, many: int) -> None:
    """A start of so many changes, of five that are allowed, by a person who is counted already or whose first one this is."""
    count = StartCount(person="employee:7", many=many, limit=5, known=() if effect_id == "first" else None)
    change = EffectChange(effect_id=effect_id, expect=("absent",), status="started", call={"method": "x"}, count=count)
    with home.store() as store:
        held = store.acquire("tg:7", effect_id, NOW, NOW + timedelta(minutes=1))
        assert held is not None
        try:
            step = Commit(stream="session:tg:7", epoch=held.epoch, actor="tg:7", now=NOW)
            store.commit(step._replace(effects=[change]))
            store.commit(step._replace(effects=[EffectChange(effect_id=effect_id, expect=("started",), status="succeeded")]))
        finally:
            store.release(held)


def restored(old: Home, new: Home, folder: Path) -> None:
    old.back_up(folder / "backup.zip")
    new.restore(folder / "backup.zip")


def moved(old: Home, new: Home, folder: Path) -> None:
    del folder
    move_database(old.url, new.url)


@pytest.mark.parametrize("way", [restored, moved])
@pytest.mark.parametrize(("here", "there"), [("file", "postgresql"), ("postgresql", "file")])
def test_a_cap_goes_on_where_it_stood(homes: Homes, tmp_path: Path, way: Callable[[Home, Home, Path], None], here: str, there: str) -> None:
    """Three of five were begun there: here two more, whatever the kind of database."""
    old, new = homes.home("old", here), homes.home("new", there)
    old.logs.mkdir(parents=True)
    begin(old, "first", 3)
    way(old, new, tmp_path)
    with pytest.raises(CapReached):
        begin(new, "second", 3)
    begin(new, "third", 2)
