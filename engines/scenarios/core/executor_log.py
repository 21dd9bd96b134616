"""The log `scenario_executor.log`: steps, durations, changed variables (S000-63)."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from orchestrator.domain.taint import Value
from orchestrator.expressions.placeholders import TemplateRefused, format_value

LOGGER: Final = "sdelka.scenarios"
LONGEST_VALUE: Final = 200
log = logging.getLogger(LOGGER)


@dataclass(frozen=True, slots=True)
class _Line:
    level: int
    text: str
    action: str


class ExecutorLog:
    """Lines of one pass; they wait until a node comes that no earlier pass has played."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._waiting: list[_Line] = []

    def drop(self) -> None:
        """An earlier pass has written the lines that wait."""
        self._waiting.clear()

    def flush(self) -> None:
        for line in self._waiting:
            if log.isEnabledFor(line.level):
                more = {"action": line.action}
                # not `log.log`, which looks for its caller: no line shows that, and it takes longer than the rest
                log.handle(log.makeRecord(LOGGER, line.level, __file__, 0, "%s %s", (self._run, line.text), None, extra=more))
        self._waiting.clear()

    def add_note(self, level: int, text: str) -> None:
        self._waiting.append(_Line(level, f"note {_cut(text, LONGEST_VALUE * 10)}", "scenario_note"))

    def add_start(self, name: str, key: str, left_out: Iterable[str]) -> None:
        """`left_out` are given values without effect."""
        self._waiting.append(_Line(logging.INFO, f"begins {key} ({_cut(name)})", "scenario_begins"))
        if names := ", ".join(map(_cut, left_out)):
            text = f"leaves out the given {names}: a version published by this program would take them"
            self._waiting.append(_Line(logging.WARNING, text, "scenario_left_out"))

    def add_wait(self, node: str, kind: str) -> None:
        self._waiting.append(_Line(logging.INFO, f"step {node} {kind} waits", "scenario_waits"))

    def add_step(self, node: str, kind: str, seconds: float, changes: Mapping[str, Value]) -> None:
        changed = f" changed {', '.join(map(_cut, changes))}" if changes else ""
        self._waiting.append(_Line(logging.INFO, f"step {node} {kind} done in {seconds * 1000:.1f} ms{changed}", "scenario_step"))
        if changes and log.isEnabledFor(logging.DEBUG):
            value_texts = "; ".join(f"{_cut(name)} = {_show(value)}" for name, value in changes.items())
            self._waiting.append(_Line(logging.DEBUG, f"step {node} values {value_texts}", "scenario_values"))

    def add_refusal(self, node: str, kind: str, detail: str) -> None:
        line = f"step {node} {kind} refused: {_cut(detail, LONGEST_VALUE * 2)}"
        self._waiting.append(_Line(logging.WARNING, line, "scenario_refused"))

    def add_failure(self, node: str, detail: str) -> None:
        self._waiting.append(_Line(logging.ERROR, f"step {node} failed: {_cut(detail, LONGEST_VALUE * 2)}", "scenario_failed"))

    def add_end(self, steps: int, status: str) -> None:
        self._waiting.append(_Line(logging.INFO, f"ends {status} after {steps} steps", "scenario_ends"))


def _show(value: Value) -> str:
    try:
        return _cut(format_value(value.data))
    except TemplateRefused:
        return "(too large)"


def _cut(text: str, most: int = LONGEST_VALUE) -> str:
    plain = "".join(sign if sign.isprintable() else " " for sign in text[: most + 1])
    return plain if len(plain) <= most else plain[:most] + "…"
