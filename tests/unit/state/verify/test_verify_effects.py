"""Calls and outcomes in the effects table carry a digest: what was changed is named, and never acted upon."""

from pathlib import Path

import pytest

from state.sql import build_sqlite_url, open_reader
from state.sql.checksummed_json import DamagedRow, decode_checksummed, encode_checksummed
from tests.unit.spine_kit import CHAT, World, message, opening_of, press, raise_sum, reply, until
from tests.unit.verify_kit import STREAM, told, verified, written

PLACE = "the call of effect e1"
CALL = {"call": {"method": "crm.deal.update", "params": {"id": 481}}, "requested_by": "tg:7", "сумма": "1 ₽"}


@pytest.mark.parametrize("value", [{}, CALL, {"последний": "x" * 64}, {"~~": {"a": [1.5, None, True]}}])
def test_what_is_stored_comes_back(value: dict[str, object]) -> None:
    """Also nothing at all, and keys that sort behind the digest's."""
    text = encode_checksummed(PLACE, value)

    assert text is not None
    assert decode_checksummed(PLACE, text) == value
    assert encode_checksummed(PLACE, None) is None


def test_no_single_bit_can_be_changed() -> None:
    """Neither in the value nor in the digest nor in what marks it as one."""
    for value in ({}, {"requested_by": "tg:7", "params": {"id": 481}}):
        text = str(encode_checksummed(PLACE, value))
        for at in range(len(text)):
            for bit in range(7):
                changed = text[:at] + chr(ord(text[at]) ^ 1 << bit) + text[at + 1 :]
                with pytest.raises(DamagedRow, match=PLACE):
                    decode_checksummed(PLACE, changed)


def test_a_call_is_bound_to_its_effect_and_old_ones_load() -> None:
    """The text of another effect is refused; one from before there were digests has nothing that could be compared."""
    with pytest.raises(DamagedRow, match="effect e2"):
        decode_checksummed("the call of effect e2", str(encode_checksummed(PLACE, CALL)))
    assert decode_checksummed(PLACE, '{"a":1}') == {"a": 1}
    assert decode_checksummed(PLACE, "{}") == {}


@pytest.mark.req("G2")
@pytest.mark.parametrize("column", ["call", "outcome"])
def test_a_changed_row_is_named_where_it_stands_and_alone(column: str, database: Path) -> None:
    """With file and offset; the effects beside it are not accused."""
    store = open_reader(build_sqlite_url(database))
    chosen = next(row for row in store.list_effects(STREAM, "succeeded"))
    store.close()
    written(database, f"UPDATE effects SET {column} = replace({column}, 'a', 'o') WHERE effect_id = '{chosen.effect_id}'")  # noqa: S608 - ours
    found = [item for item in verified(database).findings if item.kind != "note"]

    assert [(item.kind, item.place) for item in found] == [("damaged", f"effect {chosen.effect_id} of {STREAM}")]
    assert f"the {column} of effect {chosen.effect_id} is not as it was written" in found[0].why
    assert found[0].file == str(database)
    assert found[0].file.endswith("sdelka.db")


def test_rows_of_an_older_program_are_whole(database: Path) -> None:
    """They have no digest."""
    for column in ("call", "outcome"):
        # 72 characters: a comma, the digest, and what marks it as one
        written(database, f"UPDATE effects SET {column} = substr({column}, 1, length({column}) - 72) || '}}' WHERE {column} <> ''")  # noqa: S608 - ours

    assert told(verified(database).findings) == []


@pytest.mark.slow
@pytest.mark.req("S004-13")
async def test_a_damaged_call_is_not_made(world: World) -> None:
    """The press stays where it is and the person hears that it will be gone on with; once the row is repaired it is, once."""
    world.model.will(reply(raise_sum(2_000_000)))
    await world.work(message("подними сумму сделки 481"))
    entry = world.events("ConfirmationRequested")[-1].data
    with opening_of(world.sql) as connection:
        (sound,) = connection.execute("SELECT call FROM effects").fetchone()
        connection.execute("UPDATE effects SET call = replace(call, '2000000', '3000000')")
    async with world.working():
        await world.orchestrator.receive([press(entry)])
        await until(lambda: bool(world.troubles))
        assert [(key, notice.code) for key, notice in world.troubles] == [(CHAT, "store-trouble")]
        assert (world.portal.ledger, world.events("CallStarted", "ConfirmationApproved")) == ([], [])
        with opening_of(world.sql) as connection:
            connection.execute("UPDATE effects SET call = ?", (sound,))
        await world.idle()
    assert len(world.portal.ledger) == 1
