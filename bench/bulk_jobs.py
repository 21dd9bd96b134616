"""One bulk job by one client in a process of its own: `python -m bench.bulk_jobs CLIENT JOB COUNT WEBHOOK`.

Says `ready`, waits for a line, works, and prints as JSON what it cost after its imports.
"""

import asyncio
import json
import logging
import resource
import sys
import time
import warnings
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any
from urllib.parse import urlsplit

import b24pysdk  # type: ignore[import-untyped]
import fast_bitrix24  # type: ignore[import-untyped]
from b24pysdk.api.callers.call_method import _MethodCaller  # type: ignore[import-untyped]

from bitrix.bulk.bulk import list_all
from bitrix.client.client import BitrixClient
from bitrix.limits.limiter import Limiter

LIST = "crm.deal.list"
BURST, RATE = 50, 2.0
Said = dict[str, Any]


def main() -> int:
    """Run the job of the command line."""
    client, job, count, webhook = sys.argv[1:]
    warnings.simplefilter("ignore")
    logging.disable()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    said = CLIENTS[client](job, int(count), webhook)
    sys.stdout.write(json.dumps(said) + "\n")
    return 0


class Meter:
    """Seconds, processor seconds and growth of the peak of memory since it was made."""

    def __init__(self) -> None:
        self._usage = resource.getrusage(resource.RUSAGE_SELF)
        self._started = time.perf_counter()

    def mb(self) -> float:
        """How much the peak of memory grew."""
        return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - self._usage.ru_maxrss) / 1024

    def cost(self) -> Said:
        """All of it."""
        usage = resource.getrusage(resource.RUSAGE_SELF)
        cpu = usage.ru_utime + usage.ru_stime - self._usage.ru_utime - self._usage.ru_stime
        return {"seconds": time.perf_counter() - self._started, "cpu": cpu, "mb": self.mb()}


def sdelka(job: str, count: int, webhook: str) -> Said:
    """Ours behind its own limiter; `busy` jobs begin when the same process has just used the burst up."""

    async def work() -> Said:
        async with BitrixClient(webhook, limiter=Limiter.create_unlimited() if job.endswith("unlimited") else Limiter()) as client:
            spent = await _spend(client) if job.endswith("busy") else 0
            meter = Meter()
            said = await _read(client, count, meter)
            return meter.cost() | said | {"spent": spent}

    return asyncio.run(work())


async def _spend(client: BitrixClient) -> int:
    """Use the burst up, until a call has to wait for its place; how many calls it took."""
    await asyncio.gather(*(client.call("server.time", {}, repeatable=True) for _ in range(BURST)))
    for spent in range(BURST + 1, 2 * BURST):
        started = time.perf_counter()
        await client.call("server.time", {}, repeatable=True)
        if time.perf_counter() - started > 0.8 / RATE:
            return spent
    msg = "the bucket does not fill"
    raise RuntimeError(msg)


async def _read(client: BitrixClient, count: int, meter: Meter) -> Said:
    rows, last, ordered, early = 0, 0, True, 0.0
    async with aclosing(list_all(client, LIST, {})) as found:
        async for row in found:
            number = int(row["ID"])
            rows, ordered, last = rows + 1, ordered and number > last, number
            if rows == count // 2:
                early = meter.mb()
    return {"rows": rows, "ordered": ordered, "mb_at_half": early}


def b24(_job: str, _count: int, webhook: str) -> Said:
    """b24pysdk, which speaks https only: the one property that says so is replaced."""
    url = urlsplit(webhook)
    _MethodCaller._base_url = property(lambda self: f"http://{self._domain}/rest")  # noqa: SLF001 - its only way to plain http
    token = b24pysdk.BitrixWebhook(domain=url.netloc, webhook_token=url.path.removeprefix("/rest/"))

    def work() -> Said:
        found = token.call_list_fast(api_method=LIST, params={})
        return _seen([int(row["ID"]) for row in found["result"]])

    return _measured(work)


def fast(_job: str, _count: int, webhook: str) -> Said:
    """fast_bitrix24 as its page shows it."""
    bitrix = fast_bitrix24.BitrixAsync(webhook, verbose=False)

    async def work() -> Said:
        return _seen([int(row["ID"]) for row in await bitrix.get_all(LIST)])

    return _measured(lambda: asyncio.run(_awaited(work())))


async def _awaited(work: Awaitable[Said]) -> Said:
    return await work


def _measured(work: Callable[[], Said]) -> Said:
    meter = Meter()
    try:
        said = work()
    except Exception as error:  # noqa: BLE001 - how a peer fails is a result
        said = {"failed": type(error).__name__}
    return meter.cost() | said


def _seen(ids: list[int]) -> Said:
    return {"rows": len(ids), "ordered": ids == sorted(set(ids))}


CLIENTS: dict[str, Callable[[str, int, str], Said]] = {"sdelka": sdelka, "b24pysdk": b24, "fast_bitrix24": fast}

if __name__ == "__main__":
    sys.exit(main())
