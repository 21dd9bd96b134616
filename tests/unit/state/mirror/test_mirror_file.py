"""The file of the mirror: what cannot be used is set aside, what is erased is gone, a full disk leaves what was there."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from state.mirror.file import DiskFull, MirrorDamaged, MirrorFile, NoMirror, delete_mirrors
from state.mirror.reading import read_state
from state.mirror.rows import ActivityRow, CallRow, ChoiceRow, DealRow, LeadRow, MoveRow, RateRow, StageRow
from state.mirror.writing import MirrorWriter

PORTAL = "firm.example"


def build_deal(
    number: int, *, amount: int | None = 100, currency: str = "RUB", stage: str = "NEW", semantics: str = "P", person: int = 7
) -> DealRow:
    return DealRow(number, 0, stage, semantics, person, None, None, None, None, None, currency, amount, None, 10, 10, 50, None, None)


@pytest.fixture
def file(tmp_path: Path) -> MirrorFile:
    return MirrorFile(tmp_path, PORTAL)


@pytest.fixture
def writer(file: MirrorFile) -> Iterator[MirrorWriter]:
    writer = MirrorWriter(file)
    yield writer
    writer.close()


def put(writer: MirrorWriter, *deals: DealRow) -> None:
    with writer.transaction():
        writer.put_rows("deal", deals)


def read(file: MirrorFile, query: str) -> list[tuple[object, ...]]:
    with contextlib.closing(file.open_for_reading()) as connection:
        return connection.execute(query).fetchall()


def test_a_reader_cannot_write_and_counts_medians(file: MirrorFile, writer: MirrorWriter) -> None:
    with contextlib.suppress(sqlite3.OperationalError), contextlib.closing(file.open_for_reading()) as connection:
        connection.execute("DELETE FROM deal")
        pytest.fail("a reader wrote")
    medians = [[1], [1, 2], [1, 3], [3, 1, 2], [None, 5], []]
    with contextlib.closing(file.open_for_reading()) as connection:
        for values in medians:
            rows = (
                " UNION ALL ".join(f"SELECT {'NULL' if value is None else value} AS x" for value in values) or "SELECT 1 AS x WHERE FALSE"
            )
            (median,) = connection.execute(f"SELECT median(x) FROM ({rows})").fetchone()  # noqa: S608
            assert median == {(1,): 1, (1, 2): 1.5, (1, 3): 2, (3, 1, 2): 2, (None, 5): 5, (): None}[tuple(values)]


@pytest.mark.parametrize("spoil", ["text", "half", "older", "foreign", "sqlite"])
def test_a_file_that_cannot_be_used_is_set_aside_and_begun_anew(file: MirrorFile, tmp_path: Path, spoil: str) -> None:
    writer = MirrorWriter(file)
    put(writer, *(build_deal(number) for number in range(1, 3000)))
    writer.close()
    if spoil == "text":
        file.path.write_text("no database " * 1000)
    elif spoil == "half":
        file.path.write_bytes(b"\0" * 100 + file.path.read_bytes()[100:5000])
    else:
        with contextlib.closing(sqlite3.connect(file.path)) as connection:
            connection.execute("DELETE FROM meta" if spoil == "sqlite" else f"UPDATE meta SET value = '{spoil}' WHERE name = 'fingerprint'")  # noqa: S608 - a word of the test
            connection.commit()
    with pytest.raises((NoMirror, MirrorDamaged)):
        file.open_for_reading().close()
    writer = MirrorWriter(file)
    assert writer.count_rows("deal") == 0
    put(writer, build_deal(1))
    writer.close()
    assert read(file, "SELECT count(*) FROM deal") == [(1,)]
    assert file.path.with_name(f"{file.path.name}.aside").exists()


def test_damage_that_is_found_later_is_told(file: MirrorFile, writer: MirrorWriter) -> None:
    put(writer, *(build_deal(number) for number in range(1, 5000)))
    writer.close()
    content = bytearray(file.path.read_bytes())
    content[200_000:300_000] = b"\x55" * 100_000
    file.path.write_bytes(bytes(content))
    damaged = MirrorWriter(file)
    with pytest.raises(MirrorDamaged), damaged.transaction():
        damaged.put_rows("deal", [build_deal(number, stage="WON") for number in range(1, 5000)])
    damaged.close()
    file.set_aside()
    assert file.identify() is None


def test_a_writer_whose_file_was_deleted_stops(file: MirrorFile, writer: MirrorWriter) -> None:
    file.delete()
    with pytest.raises(NoMirror):
        put(writer, build_deal(1))
    with pytest.raises(NoMirror):
        file.open_for_reading()
    MirrorWriter(file).close()
    assert read(file, "SELECT count(*) FROM deal") == [(0,)]


def test_a_full_disk_has_a_name_and_leaves_what_was_there(file: MirrorFile, writer: MirrorWriter) -> None:
    put(writer, build_deal(1))
    writer._connection.execute("PRAGMA max_page_count = 60")
    with pytest.raises(DiskFull):
        put(writer, *(build_deal(number) for number in range(2, 5000)))
    assert read(file, "SELECT id FROM deal") == [(1,)]
    writer._connection.execute("PRAGMA max_page_count = 100000")
    put(writer, build_deal(2))
    assert read(file, "SELECT id FROM deal") == [(1,), (2,)]


def test_with_the_mirrors_all_their_bytes_go_and_the_locks_stay(file: MirrorFile, writer: MirrorWriter, tmp_path: Path) -> None:
    """Those of every portal, and what was set aside; who fills one now begins anew."""
    put(writer, build_deal(1, stage="OLD"))
    file.set_aside()
    MirrorWriter(file).close()
    MirrorWriter(MirrorFile(tmp_path, "other.example")).close()
    with file.lease("load"):
        assert delete_mirrors(tmp_path) == 2
        assert [path.name for path in file.path.parent.iterdir()] == [f"{file.path.name}.load.lock"]
    assert delete_mirrors(tmp_path / "nowhere") == 0


def test_a_deleted_record_takes_its_moves_and_choices_with_it(file: MirrorFile, writer: MirrorWriter) -> None:
    """And nothing of it lies in the free pages."""
    with writer.transaction():
        writer.put_rows("deal", [build_deal(1), build_deal(2, stage="GONE_STAGE_OF_TWO")])
        writer.put_rows("move", [MoveRow(1, 2, 1, 0, "GONE_STAGE_OF_TWO", "P", 10), MoveRow(2, 1, 1, 0, "NEW", "P", 10)])
        writer.put_choices("deal", [2], [ChoiceRow("deal", 2, "UF_CRM_1", "GONE_CHOICE")], ["UF_CRM_1"])
    with writer.transaction():
        writer.delete_records("deal", [2])
    assert read(file, "SELECT id FROM deal") == [(1,)]
    assert read(file, "SELECT deal FROM move") == [(1,)]
    writer.close()
    assert b"GONE" not in file.path.read_bytes()


def test_of_two_processes_one_has_the_lease(tmp_path: Path) -> None:
    first, second = MirrorFile(tmp_path, PORTAL), MirrorFile(tmp_path, PORTAL)
    with first.lease("refresh") as is_first, second.lease("refresh") as is_second, second.lease("load") as has_other:
        assert (is_first, is_second, has_other) == (True, False, True)
    with second.lease("refresh") as is_second:
        assert is_second


def test_portals_have_files_of_their_own_that_do_not_name_them(tmp_path: Path) -> None:
    paths = {MirrorFile(tmp_path, portal).path for portal in ("a.example", "b.example")}
    assert len(paths) == 2
    assert not any("example" in str(path.relative_to(tmp_path)) for path in paths)


def test_sums_follow_the_rates(file: MirrorFile, writer: MirrorWriter) -> None:
    """To the last hundredth; without a rate, or a sum, there is none. A row that was there before the rate follows it too."""
    with writer.transaction():
        writer.put_rows(
            "deal", [build_deal(1, amount=10**15 + 1, currency="KZT"), build_deal(2, amount=None), build_deal(3, currency="XXX")]
        )
        writer.put_rates([RateRow("RUB", "1", 1, None), RateRow("KZT", "0.193", 0, "2026-11-01")])
        writer.put_rows("deal", [build_deal(4, amount=333, currency="KZT")])
    assert read(file, "SELECT id, base FROM deal") == [(1, 193000000000000), (2, None), (3, None), (4, 64)]
    with writer.transaction():
        writer.put_rates([RateRow("RUB", "1", 1, None), RateRow("KZT", "0.2", 0, "2026-11-02")])
    assert read(file, "SELECT base FROM deal WHERE id IN (1, 4)") == [(200000000000000,), (67,)]


def test_state_says_how_much_is_there(file: MirrorFile, writer: MirrorWriter) -> None:
    with writer.transaction():
        writer.set_marks({"part.deals": "loading", "total.deals": 50, "done.deals": 20, "as_of": 100, "part.calls": "no_scope"})
    with contextlib.closing(file.open_for_reading()) as connection:
        state = read_state(connection)
    assert state.measure_loaded("deals") == 40
    assert state.measure_loaded("deals", "history") == 20
    assert not state.is_ready("deals")
    assert (state.parts["calls"].status, state.parts["history"].status) == ("no_scope", "waiting")


STAGES = [
    StageRow("deal", 0, "NEW", 10, "P"),
    StageRow("deal", 0, "PAID", 20, "P"),
    StageRow("deal", 0, "WON", 30, "S"),
    StageRow("deal", 0, "LOSE", 40, "F"),
    StageRow("deal", 1, "C1:FAR", 90, "P"),
]


@pytest.mark.parametrize(
    ("deal", "moves", "closed", "reached"),
    [
        pytest.param(("WON", "S"), [], 50, 30, id="no history: the last move of the record"),
        pytest.param(("NEW", "P"), [(2, "PAID", "P", 1), (3, "WON", "S", 2), (2, "NEW", "P", 3)], None, 30, id="reopened"),
        pytest.param(("LOSE", "F"), [(1, "NEW", "P", 1), (3, "WON", "S", 2), (3, "LOSE", "F", 3)], 3, 30, id="the last final move"),
        pytest.param(("WON", "S"), [(1, "WON", "S", 4)], 4, 30, id="created on a final stage"),
        pytest.param(("LOSE", "F"), [(1, "NEW", "P", 1), (3, "LOSE", "F", 2)], 2, 10, id="a failure is not far"),
        pytest.param(("WON", "S"), [(3, "WON", "S", 1), (2, "NEW", "P", 2), (5, "WON", "S", 6)], 6, 30, id="closed by a change of funnel"),
        pytest.param(("NEW", "P"), [(2, "C1:FAR", "P", 1), (5, "NEW", "P", 2)], None, 10, id="a stage of another funnel"),
        pytest.param(("GONE", "P"), [(2, "PAID", "P", 1)], None, 20, id="a stage that was deleted"),
    ],
)
def test_what_is_derived(
    file: MirrorFile, writer: MirrorWriter, deal: tuple[str, str], moves: list[tuple[int, str, str, int]], closed: int | None, reached: int
) -> None:
    """Whether the history comes before the deal or after it, or the stages last."""
    rows = [MoveRow(number, 1, kind, int(stage.startswith("C1")), stage, mark, at) for number, (kind, stage, mark, at) in enumerate(moves)]
    parts = [
        lambda: writer.put_stages(STAGES),
        lambda: writer.put_rows("deal", [build_deal(1, stage=deal[0], semantics=deal[1])]),
        lambda: writer.put_rows("move", rows),
    ]
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]):
        with writer.transaction():
            for name in ("deal", "move", "stage"):
                writer._connection.execute(f"DELETE FROM {name}")  # noqa: S608
            for number in order:
                parts[number]()
        assert read(file, "SELECT closed, reached FROM deal") == [(closed, reached)], order
        ends = [*(row.entered for row in rows[1:]), None][: len(rows)]
        befores = [None, *(row.stage for row in rows)][: len(rows)]
        assert read(file, "SELECT left, came_from FROM move ORDER BY id") == list(zip(ends, befores, strict=True))


def test_the_first_call_to_a_lead_follows_the_source_of_calls(file: MirrorFile, writer: MirrorWriter) -> None:
    """Outgoing is 1 or 4 for telephony, 2 in activities; in whatever order the rows come."""
    lead = LeadRow(5, "NEW", "P", 7, None, None, None, None, 10, 10, None, None)
    calls = [CallRow(number, 7, way, "200", 9, at, 1, 5) for number, way, at in [(1, 2, 10), (2, 1, 40), (3, 4, 30)]]
    activities = [
        ActivityRow(number, 1, 5, kind, None, 7, way, 1, at, None, 0, 1)
        for number, kind, way, at in [(1, 2, 1, 5), (2, 4, 2, 6), (3, 2, 2, 20)]
    ]
    with writer.transaction():
        writer.put_rows("activity", activities)
        writer.put_rows("lead", [lead])
        writer.put_rows("call", calls)
    assert read(file, "SELECT called FROM lead") == [(20,)]
    with writer.transaction():
        writer.set_marks({"calls": "voximplant"})
    assert read(file, "SELECT called FROM lead") == [(30,)]
    with writer.transaction():
        writer.delete_records("call", [3])
    assert read(file, "SELECT called FROM lead") == [(40,)]
