"""Runs the checks concurrently; one that fails or hangs stops no other."""

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
ORDER: Final = (
    "settings",
    "files",
    "engines",
    "portal",
    "numbers",
    "model",
    "telegram",
    "database",
    "mongo",
    "documents",
    "disk",
    "http",
    "machine",
)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """`mending` is how to fix it, "" for "ok"."""

    area: str
    check: str
    verdict: Verdict
    says: str
    mending: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Area:
    name: str

    def report_ok(self, check: str, says: str) -> Finding:
        return Finding(area=self.name, check=check, verdict="ok", says=says)

    def report_warning(self, check: str, says: str, mending: str) -> Finding:
        return Finding(area=self.name, check=check, verdict="warning", says=says, mending=mending)

    def report_wrong(self, check: str, says: str, mending: str) -> Finding:
        return Finding(area=self.name, check=check, verdict="wrong", says=says, mending=mending)


@dataclass(frozen=True, kw_only=True)
class Check:
    """Findings come as soon as known, so a timeout of `within` seconds loses none of the earlier ones."""

    area: Area
    probe: Callable[[], AsyncIterator[Finding]]
    within: float


async def run_checks(checks: Sequence[Check], hush: Callable[[str], str]) -> list[Finding]:
    """Sorted by `ORDER`; `hush` removes secrets. Never raises."""
    findings_by_check = await asyncio.gather(*(_run_check(check) for check in checks))
    lines = sorted((line for lines in findings_by_check for line in lines), key=lambda line: ORDER.index(line.area))
    return [replace(line, says=hush(mask(line.says)), mending=hush(mask(line.mending))) for line in lines]


async def _run_check(check: Check) -> list[Finding]:
    """If it failed or timed out, the last finding says so."""
    findings: list[Finding] = []
    begun = read_boottime()
    try:
        async with asyncio.timeout(check.within):
            async for finding in check.probe():
                findings.append(replace(finding, seconds=round(read_boottime() - begun, 3)))  # noqa: PERF401 - findings must survive a timeout
    except TimeoutError:
        says = f"It did not answer within {check.within:.0f} s; what comes after this was not looked at."
        findings.append(check.area.report_wrong("in time", says, "Look whether the other side hangs, then run `sdelka doctor` again."))
    except (SdelkaError, StoreError, BitrixError, OSError, ValueError) as error:
        reason = error.reason if isinstance(error, SdelkaError) else str(error) or type(error).__name__
        findings.append(
            check.area.report_wrong(
                "looked at", f"It could not be looked at: {reason}.", "Mend this first, then run `sdelka doctor` again."
            )
        )
    except Exception as error:  # noqa: BLE001 - one broken check must not hide the findings of the others
        says = f"It could not be looked at: {type(error).__name__}."
        findings.append(check.area.report_wrong("looked at", says, "This is a fault of the program: please report it with this line."))
    return findings


async def stream_from_thread(lines: Callable[[], Iterable[Finding]]) -> AsyncIterator[Finding]:
    """In a daemon thread: a dead network drive may block it for ever."""
    items: Iterator[Finding] = iter(await run_in_thread(lambda: iter(lines())))
    while (item := await run_in_thread(lambda: next(items, None))) is not None:
        yield item


async def run_in_thread(work: Callable[[], T]) -> T:
    """In a daemon thread; raises what `work` raises."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(set_it: Callable[[], None]) -> None:
        loop.call_soon_threadsafe(lambda: None if done.done() else set_it())

    def run() -> None:
        try:
            answer = work()
        except Exception as error:  # noqa: BLE001 - passed on to the waiting caller
            failure = error
            settle(lambda: done.set_exception(failure))
        else:
            settle(lambda: done.set_result(answer))

    threading.Thread(target=run, daemon=True).start()
    return await done
