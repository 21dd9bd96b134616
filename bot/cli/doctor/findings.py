"""What a check says, and how checks are run: side by side, each with a time limit, none able to stop the others. Ring 3."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeVar

from bitrix.errors import BitrixError
from bitrix.masking import mask
from orchestrator.domain.errors import SdelkaError
from state.clock import read_boottime
from state.journal.store import StoreError

T = TypeVar("T")

Verdict = Literal["ok", "warning", "wrong"]
ORDER: Final = ("settings", "files", "portal", "model", "telegram", "database", "disk", "http", "machine")
"""Areas as people read them: what is set, who is asked, where it runs."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One line: what was looked at, how it is, and what to do about it."""

    area: str
    check: str
    verdict: Verdict
    says: str
    mending: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Area:
    """Writes the findings of one area."""

    name: str

    def report_ok(self, check: str, says: str) -> Finding:
        """All is well."""
        return Finding(area=self.name, check=check, verdict="ok", says=says)

    def report_warning(self, check: str, says: str, mending: str) -> Finding:
        """It works, and somebody should know this."""
        return Finding(area=self.name, check=check, verdict="warning", says=says, mending=mending)

    def report_wrong(self, check: str, says: str, mending: str) -> Finding:
        """Something does not work, or will not for long."""
        return Finding(area=self.name, check=check, verdict="wrong", says=says, mending=mending)


@dataclass(frozen=True, kw_only=True)
class Check:
    """One party or thing; `look` yields what it finds as soon as it is found, so that a hanging end costs nothing of the beginning."""

    area: Area
    probe: Callable[[], AsyncIterator[Finding]]
    within: float


async def run_checks(checks: Sequence[Check], hush: Callable[[str], str]) -> list[Finding]:
    """Everything that was found, in the order of areas; `hush` takes secrets out of each sentence. Never fails."""
    found = await asyncio.gather(*(_run_check(check) for check in checks))
    lines = sorted((line for lines in found for line in lines), key=lambda line: ORDER.index(line.area))
    return [replace(line, says=hush(mask(line.says)), mending=hush(mask(line.mending))) for line in lines]


async def _run_check(check: Check) -> list[Finding]:
    """What one check found until it ended, failed or had no more time."""
    found: list[Finding] = []
    begun = read_boottime()
    try:
        async with asyncio.timeout(check.within):
            async for finding in check.probe():
                found.append(replace(finding, seconds=round(read_boottime() - begun, 3)))  # noqa: PERF401 - what was found must outlive a timeout
    except TimeoutError:
        says = f"It did not answer within {check.within:.0f} s; what comes after this was not looked at."
        found.append(check.area.report_wrong("in time", says, "Look whether the other side hangs, then run `sdelka doctor` again."))
    except (SdelkaError, StoreError, BitrixError, OSError, ValueError) as error:
        reason = error.reason if isinstance(error, SdelkaError) else str(error) or type(error).__name__
        found.append(
            check.area.report_wrong(
                "looked at", f"It could not be looked at: {reason}.", "Mend this first, then run `sdelka doctor` again."
            )
        )
    except Exception as error:  # noqa: BLE001 - the one who asks what is wrong must get an answer about everything else
        says = f"It could not be looked at: {type(error).__name__}."
        found.append(check.area.report_wrong("looked at", says, "This is a fault of the program: please report it with this line."))
    return found


async def stream_from_thread(lines: Callable[[], Iterable[Finding]]) -> AsyncIterator[Finding]:
    """The findings of a look that blocks, from a thread that nobody waits for at the end: a dead network drive never gives one back."""
    items: Iterator[Finding] = iter(await run_in_thread(lambda: iter(lines())))
    while (item := await run_in_thread(lambda: next(items, None))) is not None:
        yield item


async def run_in_thread(work: Callable[[], T]) -> T:
    """What `work` answers or raises, run beside the loop."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(set_it: Callable[[], None]) -> None:
        loop.call_soon_threadsafe(lambda: None if done.done() else set_it())

    def run() -> None:
        try:
            answer = work()
        except Exception as error:  # noqa: BLE001 - handed on to whoever waits
            kept = error
            settle(lambda: done.set_exception(kept))
        else:
            settle(lambda: done.set_result(answer))

    threading.Thread(target=run, daemon=True).start()
    return await done
