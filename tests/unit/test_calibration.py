"""The bars of the benches are scaled by how quick the machine is: absolute ones only, in the right direction, and nothing else changes."""

from typing import Any

import pytest

from bench import calibration
from bench.calibration import Calibration, format_bar, judge_row, measure_loop


def row(value: float, unit: str, bar: str, *, holds: bool | None) -> dict[str, Any]:
    return {"name": "x", "value": value, "unit": unit, "bar": bar, "holds": holds, "versus": "beside"}


@pytest.mark.parametrize(
    ("given", "factor", "bar", "holds"),
    [
        (row(3.0, "ms", "<= 2 ms", holds=False), 2.0, "<= 4 ms", True),
        (row(3.0, "ms", "<= 2", holds=False), 1.2, "<= 2.4", False),
        (row(1.5, "ms", "<= 2 ms", holds=True), 0.5, "<= 1 ms", False),
        (row(1.2, "s", "<= 1 s", holds=False), 1.25, "<= 1.25 s", True),
        (row(21.0, "us", "<= 20", holds=False), 1.1, "<= 22", True),
        (row(20_000, "1/s", ">= 30000", holds=False), 2.0, ">= 15000", True),
        (row(31_000, "1/s", ">= 30000", holds=True), 0.5, ">= 60000", False),
    ],
)
def test_a_bar_of_time_or_rate_is_scaled_and_judged_by(given: dict[str, Any], factor: float, bar: str, *, holds: bool) -> None:
    """A slower machine may take longer and do less, a quicker one must do more; the bar that is meant stays in the row."""
    found = judge_row(given, factor)
    assert found == {**given, "holds": holds, "scaled_bar": bar, "factor": factor}
    assert format_bar(found) == f"{bar} (x{factor:g})"


@pytest.mark.parametrize(
    "given",
    [
        row(2.0, "x", "<= 1.2", holds=False),
        row(12.0, "%", "<= 10 %", holds=False),
        row(7000, "B", "<= 6144", holds=False),
        row(25, "", "<= 21, ordered", holds=False),
        row(3.0, "s", "<= sdk's", holds=False),
        row(3.0, "ms", "<= 2 ms", holds=None),
        row(3.0, "ms", "", holds=None),
        {**row(60, "us", "<= 50", holds=False), "factor": 1.1},
    ],
)
def test_what_is_no_absolute_bar_is_left_alone(given: dict[str, Any]) -> None:
    """Ratios, shares, sizes, counts, rows that nobody judges, and what was scaled by a loop of its own."""
    assert judge_row(given, 3.0) == given
    assert format_bar(given) == given["bar"]


def test_what_failed_for_another_reason_stays_failed() -> None:
    """A longer bar makes nothing right that was within the bar and wrong all the same."""
    assert judge_row(row(1.0, "ms", "<= 2 ms", holds=False), 2.0)["holds"] is False


def test_the_factor_is_what_the_loop_takes_beside_the_machine_of_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """The middle of all samples, so that one of them that was disturbed decides nothing."""
    times = iter([2.0] * calibration.ROUNDS + [3.0] * (calibration.ROUNDS - 1) + [900.0])
    monkeypatch.setattr(calibration, "measure_loop", lambda: next(times) * calibration.REFERENCE_MS)
    made = Calibration()
    made.take_samples()
    assert made.factor == 2.0
    made.take_samples()
    assert made.factor == 2.5


def test_the_loop_does_its_work_and_takes_time_of_the_processor() -> None:
    """It raises if it did other work."""
    assert calibration.REFERENCE_MS > 0
    assert 0.05 < measure_loop() / calibration.REFERENCE_MS < 50
