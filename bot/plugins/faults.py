"""What is wrong with engines: logged when met, and kept to be told."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class EngineFault:
    engine: str
    """Or its folder or entry point, if it has told no name."""
    slot: str
    """"" for the engine as a whole."""
    reason: str

    def describe(self) -> str:
        if self.slot:
            return f"The engine {self.engine} is shown without its part {self.slot}: {self.reason}."
        return f"The engine {self.engine} is left out: {self.reason}."


_faults: dict[EngineFault, None] = {}


def note_fault(engine: str, slot: str, reason: str, error: BaseException | None = None) -> None:
    """Log it only when it is met first."""
    fault = EngineFault(engine=engine, slot=slot, reason=reason)
    if fault in _faults:
        return
    _faults[fault] = None
    log.error("%s", fault.describe(), exc_info=error, extra={"action": "engine_fault", "engine": engine, "slot": slot})


def list_faults() -> Sequence[EngineFault]:
    return tuple(_faults)


def forget_faults() -> None:
    """The engines are looked for anew."""
    _faults.clear()
