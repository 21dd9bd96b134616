"""How quick this machine is now, beside the machine for which the bars of the benches are meant.

A loop of fixed work runs before and after each bench: plain Python, JSON and SQLite in memory, which is what a turn is made of. The time of
the processor that it takes, divided by that of the machine of reference, is the factor by which every absolute bar is scaled: a time may
be so many times longer, a rate so many times lower. Ratios, sizes and counts are the same on every machine and are not scaled.

The time is that of the thread, so that a bench does not get a longer bar because other programs keep the processor; but a processor that
gives each of them fewer cycles while they run counts, as it does for the bench.
"""

import json
import re
import sqlite3
import statistics
import time
from typing import Any, Final

REFERENCE_MS: Final = 6.6
"""Milliseconds of the processor that the loop takes on the machine of reference."""
REFERENCE_MACHINE: Final = "virtual machine with 2 cores of an AMD EPYC, x86_64, Python 3.11.7, SQLite 3.40.1"
"""Of 360 loops the tenth part took at most 6.7 ms there, the quickest 6.5 ms. A fresh turn of LangGraph (`bench/peers_turn.py`) takes 9.3
to 9.5 ms of the processor on it when nothing runs beside."""
ROUNDS: Final = 15
_ROWS: Final = 400
_TIMES: Final = frozenset({"ms", "s", "us"})
_RATES: Final = frozenset({"1/s"})
_BAR: Final = re.compile(r"(<=|>=) ([0-9.]+)( [a-z]+)?")


class Calibration:
    """Samples of the loop, taken around one bench."""

    def __init__(self) -> None:
        self._samples: list[float] = []

    def take_samples(self) -> None:
        """Run the loop some times."""
        self._samples += [measure_loop() for _ in range(ROUNDS)]

    @property
    def factor(self) -> float:
        """How many times slower this machine is than the machine of reference; rounded, since nobody judges by more digits."""
        return round(statistics.median(self._samples) / REFERENCE_MS, 2)


def measure_loop() -> float:
    """Do the fixed work once; return milliseconds of this thread's processor."""
    started = time.thread_time()
    _work()
    return (time.thread_time() - started) * 1000


def judge_row(row: dict[str, Any], factor: float) -> dict[str, Any]:
    """Return the row judged by its bar after scaling, with `scaled_bar` and `factor` beside the bar that is meant.

    A row that is not judged, that has no absolute bar of a time or rate, or whose `factor` says that it was measured beside something of
    its own stays as it is. What failed for another reason than its bar stays failed.
    """
    found = _BAR.fullmatch(row["bar"])
    if found is None or row["holds"] is None or "factor" in row or row["unit"] not in _TIMES | _RATES:
        return row
    sign, bar = found[1], float(found[2])
    scaled = bar * factor if row["unit"] in _TIMES else bar / factor
    failed_otherwise = not row["holds"] and _is_within(sign, row["value"], bar)
    text = f"{sign} {_format_bar(scaled)}{found[3] or ''}"
    return {**row, "holds": not failed_otherwise and _is_within(sign, row["value"], scaled), "scaled_bar": text, "factor": factor}


def format_bar(row: dict[str, Any]) -> str:
    """Return the bar as the table shows it: the one that was judged by, and the factor if it was scaled."""
    return f"{row['scaled_bar']} (x{row['factor']:g})" if "scaled_bar" in row else str(row["bar"])


def _is_within(sign: str, value: float, bar: float) -> bool:
    return value <= bar if sign == "<=" else value >= bar


def _format_bar(value: float) -> str:
    """Three digits are enough for a bar; a large one is a whole number."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _work() -> None:
    """The fixed work. Whoever changes it measures the machine of reference again."""
    words: dict[str, int] = {}
    for number in range(20_000):
        word = f"deal {number % 97}"
        words[word] = words.get(word, 0) + number % 7
    rows = [{"id": number, "title": f"Deal {number}", "fields": {"sum": number * 3, "stage": "NEW"}} for number in range(_ROWS)]
    texts = [json.dumps(row, sort_keys=True) for row in rows]
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE work (id INTEGER PRIMARY KEY, body TEXT NOT NULL)")
    connection.executemany("INSERT INTO work VALUES (?, ?)", enumerate(texts))
    total = 0
    for number in range(_ROWS):
        (body,) = connection.execute("SELECT body FROM work WHERE id = ?", (number,)).fetchone()
        total += json.loads(body)["fields"]["sum"]
    connection.close()
    if total != 3 * sum(range(_ROWS)) or len(words) != 97:
        msg = "the loop of the calibration did other work than it should"
        raise RuntimeError(msg)
