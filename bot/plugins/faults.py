"""What is wrong with engines: each fault is logged when it is met, and kept for whoever tells people of all of them."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class EngineFault:
    """One thing that is wrong with an engine."""

    engine: str
    """Its name, or that of its folder or entry point if it has told none."""
    slot: str
    """The slot in which it offers what cannot be used; "" for the engine as a whole."""
    reason: str
    """What is wrong, in English, for operations staff."""

    def describe(self) -> str:
        """Return a sentence for logs and reports."""
        if self.slot:
            return f"The engine {self.engine} is shown without its part {self.slot}: {self.reason}."
        return f"The engine {self.engine} is left out: {self.reason}."


_faults: dict[EngineFault, None] = {}


def note_fault(engine: str, slot: str, reason: str, error: BaseException | None = None) -> None:
    """Keep a fault, and log it when it is met first; `error` is logged with it."""
    fault = EngineFault(engine=engine, slot=slot, reason=reason)
    if fault in _faults:
        return
    _faults[fault] = None
    log.error("%s", fault.describe(), exc_info=error, extra={"action": "engine_fault", "engine": engine, "slot": slot})


def list_faults() -> Sequence[EngineFault]:
    """Return what was met so far in this process."""
    return tuple(_faults)


def forget_faults() -> None:
    """Begin anew, because the engines are looked for anew."""
    _faults.clear()
