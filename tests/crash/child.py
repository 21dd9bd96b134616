"""The program that is killed: the whole core on a real database and a real wire, with a scripted person instead of a door.

Run as `child.py` it is a nursery: it imports everything once, then forks one child for each line of JSON on its input, before any
thread or loop exists, and answers each with the child's exit code.
"""

import asyncio
import atexit
import contextlib
import gc
import importlib
import json
import logging
import os
import shutil
import signal
import ssl
import sys
import tempfile
import threading
from dataclasses import replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, get_args

import httpx
from pydantic import SecretStr

from bitrix.client.client import BitrixClient
from bitrix.limits.limiter import Limiter
from bot.composition import installation
from bot.composition.database import open_async_store
from bot.composition.people import People, keep_actor
from bot.settings.settings import Settings
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call.policy_format import Rule
from orchestrator.language.work_calendar import load_workdays
from orchestrator.model_client.client import ModelClient
from orchestrator.model_client.settings import ModelSettings
from orchestrator.runs.registry import Engines
from orchestrator.runtime import worker
from orchestrator.sessions import merge_inputs, session
from state.events import fold
from state.journal import journal
from state.journal.store import EffectStatus, Store
from state.sql.dialect import build_sqlite_url
from state.sql.store import open_store
from tests import chain_kit
from tests.assembly_kit import assemble
from tests.crash.lab import opened_world
from tests.crash.lab_bulk import SCRIPT as BULK
from tests.crash.lab_bulk_person import BulkModel, BulkPerson, build_bulk_engines, list_bulk_runs
from tests.crash.lab_faults import FAULTS
from tests.crash.lab_flows import LIMIT
from tests.crash.lab_go_on import GOING_ON, STAFFED
from tests.crash.lab_people import Hearing, Listeners, staff
from tests.crash.lab_person import LabClock, Person, Told
from tests.crash.lab_points import STALLED, Points, Wire, watch_store
from tests.crash.lab_run_engine import build_lab_engines
from tests.crash.lab_run_person import RunPerson, SharedTold, inspect_runs, list_answered
from tests.crash.lab_runs import ALL_WAYS, SHORT_SLEEP, SLEEP
from tests.crash.lab_script import SCRIPTS
from tests.crash.lab_shim import NoShim, Shim
from tests.unit.spine_kit import build_no_card

log = logging.getLogger(__name__)

AHEAD = timedelta(seconds=120)
REFUSED = 4
TEMPLATE = Path(tempfile.mkdtemp(prefix=f"crash-lab-{os.getpid()}-")) / "sdelka.db"
"""A database of today's schema that children begin with, unless they are to make their own."""


LIVED = ("sum", "add")
"""Scripts that the nursery lives through before it has children."""
THREAD_ENDS = 10.0
"""Seconds in which a thread without work ends."""

ALL = 100_000
"""More events than any stream of the lab has."""


@cache
def _settings() -> Settings:
    """The settings of all children but for their folders; reading the environment for each would cost 10 ms."""
    return Settings(_env_file=None, agent_mode="full")


def known_answers(store: Store) -> list[list[Any]]:
    """[turn, iteration] of every recorded answer of the model."""
    events = [event for stream in store.list_streams() for event in store.read_events(stream, limit=ALL)]
    return [[event.data["turn_id"], event.data["iteration"]] for event in events if event.type == "ModelAnswered"]


def inspected(store: Store) -> dict[str, Any]:
    """What the journal and the tables say at the end."""
    streams = {}
    for stream in store.list_streams():
        folded = fold.fold_events(
            fold.create_state(), ((item.type, dict(item.data), item.ts) for item in store.read_events(stream, limit=ALL))
        )
        streams[stream] = {"verified": type(chain_kit.verify_stream(store, stream)).__name__, "state": folded.to_stored()}
        streams[stream]["loaded"] = journal.load_state(store, stream)[0].to_stored()
    effects = [row for stream in store.list_streams() for status in get_args(EffectStatus) for row in store.list_effects(stream, status)]
    shown = [{"effect_id": row.effect_id, "status": row.status, "call": dict(row.call)} for row in effects]
    events = [event for stream in store.list_streams() for event in store.read_events(stream, limit=ALL)]
    doubted = [event.data["effect_id"] for event in events if event.type == "CallOutcomeUnknown"]
    heads = [{"stream": event.stream, "id": event.id, "ts": event.ts, "type": event.type, "data": dict(event.data)} for event in events]
    return {"streams": streams, "effects": shown, "doubted": doubted, "events": [event.type for event in events], "journal": heads}


async def play(config: dict[str, Any], points: Points, told: Told, clock: LabClock) -> None:
    """Open the product on the database of the run, let the person act, and report."""
    folder = Path(config.get("state") or config["folder"])
    address = f"http://127.0.0.1:{config['port']}"
    url = SecretStr(config["database_url"]) if config.get("database_url") else None
    settings = _settings().model_copy(update={"state_dir": folder, "log_dir": folder / "logs", "database_url": url})

    async def trouble(session: str, notice: Notice) -> None:
        told.add("trouble", session=session, code=notice.code)

    async def silent(session: str, text: str) -> None:
        del session, text

    is_bulk = config["script"] == BULK
    async with open_async_store(settings) as store:
        told.add("begun", pid=os.getpid(), answers=await store.read(known_answers))
        portal = config.get("portal") or f"{address}/rest/1/lab/"
        client = BitrixClient(portal, limiter=Limiter.create_unlimited(), transport=Wire(points))
        on_wire = ModelClient(ModelSettings(base_url=f"{address}/v1", api_key=SecretStr("lab")), transport=Wire(points))
        model = BulkModel() if is_bulk else on_wire
        known = staff() if is_bulk or config["script"] in STAFFED else None
        people = People(
            report_trouble=trouble,
            show_partial=silent,
            refresh_actor=known.refresh_actor if known else keep_actor,
            audience=Listeners(),
            members=known,
            files=Hearing(),
        )
        is_run = config["script"] in ALL_WAYS
        engines = build_lab_engines(SHORT_SLEEP if config.get("shared") else SLEEP) if is_run else Engines()
        engines = build_bulk_engines() if is_bulk else engines
        orchestrator = assemble(settings, store, client, model, people, clock=clock, engines=engines, transcriber=Hearing())
        # The card reads the portal in the first turn, and the lab's points are calls that a person's request leads to.
        orchestrator.tools = replace(orchestrator.tools, queries={**orchestrator.tools.queries, "portal_card": build_no_card})
        if is_run:
            # Before anything works on the runs: what this process asks and stores itself was not known when it began.
            told.add("known", prompts=await store.read(list_answered), shared=str(config.get("shared", "")))
        kind = RunPerson if is_run else BulkPerson if is_bulk else Person
        person = kind(orchestrator, store, told, clock, config=config)
        if isinstance(person, BulkPerson):
            person.points = points
        working = asyncio.ensure_future(orchestrator.run())
        try:
            await _course(config, person, clock, told)
            with contextlib.suppress(TimeoutError):
                await asyncio.to_thread(orchestrator.tools.audit.wait)  # a child leaves by os._exit, which writes nothing that was gathered
            open_sessions = () if config.get("shared") else orchestrator._sessions.values()  # of two, each may have lost some to the other
            live = {session.stream: session.state.to_stored() for session in open_sessions}
            report = await store.read(inspected) | (await store.read(inspect_runs) if is_run else {})
            report |= await store.read(list_bulk_runs) if is_bulk else {}
            points.shim.mark("rested")
            told.add("report", live=live, labels=points.labels, names=points.names, **report)
            if config.get("abandoned"):
                os._exit(0)  # the write-ahead log stays as it is: a closed one is gone
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
            await client.aclose()
            await on_wire.aclose()


async def _course(config: dict[str, Any], person: Person, clock: LabClock, told: Told) -> None:
    """The script to its end; or, for two at a time, its first step (if any) and then whatever comes until a file says stop."""
    steps = SCRIPTS.get(config["script"], ())
    if isinstance(person, RunPerson | BulkPerson):
        await person.live()
    elif config.get("until_stopped"):
        await person.act(steps[:1])
        told.add("rested")
        stop = Path(config["folder"], "stop")
        while not stop.exists():  # noqa: ASYNC240 - a look at a file is what another process can be told by
            await person.rest()
            await asyncio.sleep(0.01)
    else:
        if config.get("presses_while_recovering"):
            await person.press_while_recovering()
        await person.act(steps)
    outlived = Path(config["alone"]).is_file() if config.get("alone") else False  # noqa: ASYNC240 - a look at a file, as above
    if not isinstance(person, BulkPerson) and (config.get("settles", True) or outlived):
        async with httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(verify=False)) as http:
            await http.post(f"http://127.0.0.1:{config['port']}/lab/late")
        clock.ahead += AHEAD  # now the outcomes that stayed open are looked at again
        await person.rest()
        if config["script"] in GOING_ON:  # a turn that waited for such an outcome goes on only now, and what it asks for is pressed too
            await person.act(steps)
            clock.ahead += AHEAD
            await person.rest()


def live(config: dict[str, Any]) -> None:
    """The life of one child; leaves by os._exit."""
    signal.alarm(STALLED)
    folder = Path(config["folder"])
    output = os.open(folder / "child.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)
    logging.basicConfig(level=logging.WARNING, format=f"%(asctime)s {os.getpid()} %(message)s")
    logging.getLogger("orchestrator").setLevel(logging.INFO)
    state = Path(config.get("state") or folder)
    shim = Shim(state, folder / "trace")
    shim.mark(f"generation {config['generation']}")
    told = (
        SharedTold(Path(config["told"]), config["generation"])
        if config.get("told")
        else Told(folder / "told.jsonl", config["generation"], shim.mark)
    )
    if config.get("lease"):
        session.LEASE = worker.LEASE = timedelta(seconds=config["lease"])
    clock = LabClock(config.get("ahead", 0.0), folder / "slept")
    points = Points(config, state / "sdelka.db-wal", shim, clock)
    if not (config.get("bare") or config.get("database_url") or (state / "sdelka.db").exists()):
        shutil.copyfile(TEMPLATE, state / "sdelka.db")
    if config.get("call"):
        shim.order(config["call"])
    try:
        watch_store(points)
        FAULTS[config.get("fault", "")]()
        asyncio.run(play(config, points, told, clock))
    except SettingsError as error:
        told.add("refused", text=str(error))
        os._exit(REFUSED)
    except BaseException:
        log.exception("the child failed")
        os._exit(1)
    os._exit(0)


async def _live_once(script: str) -> None:
    """A whole life on a world of its own, undisturbed."""
    folder = Path(tempfile.mkdtemp(dir=TEMPLATE.parent))
    shutil.copyfile(TEMPLATE, folder / "sdelka.db")
    clock = LabClock(0.0, folder / "slept")
    async with opened_world() as world:
        config = {"folder": str(folder), "port": world.port, "script": script, "generation": 0}
        await play(config, Points(config, folder / "sdelka.db-wal", NoShim(), clock), Told(folder / "told.jsonl", 0), clock)


def warm_up() -> None:
    """Load, parse and compile what would otherwise be so in every child, by living once; leaves no thread, loop or connection behind.

    What a child finds in memory is the same for the first one and for those after a death: it can make up for nothing that was lost.
    """
    for name in ("httpcore", "anyio._backends._asyncio", "alembic.command"):
        importlib.import_module(name)
    open_store(build_sqlite_url(TEMPLATE)).close()
    load_workdays(installation.DATA / "holidays.yaml")
    ssl.create_default_context = cache(ssl.create_default_context)  # the wire is plain HTTP, and each client would read all certificates
    for script in LIVED:
        asyncio.run(_live_once(script))
    signal.alarm(0)  # which each step of a life sets for itself
    gc.collect()  # with the core that lived, the thread of its audit log ends
    for thread in set(threading.enumerate()) - {threading.main_thread()}:
        thread.join(THREAD_ENDS)
    assert threading.active_count() == 1, threading.enumerate()
    gc.freeze()  # a collection in a child would copy every page of the nursery
    gc.set_threshold(20_000, 20, 20)  # and what it makes of its own is gone with it


def main() -> None:
    """The nursery."""
    worker.POLL = 0.02
    merge_inputs.CUT_PAUSE = merge_inputs.FORWARD_PAUSE = 0.02
    atexit.register(shutil.rmtree, TEMPLATE.parent)
    policy, catalogue = installation.load_rules(_settings(), Engines())
    dear = Rule(entity="deal", field="OPPORTUNITY", above=LIMIT, then="lead", why="дороже двух миллионов")
    rules = policy.model_copy(update={"sum_jump": None, "rules": (dear,)}), catalogue  # the lab's people press once, whatever the sum
    installation.load_rules = lambda *_: rules
    warm_up()
    for line in sys.stdin:
        config = json.loads(line)
        pid = os.fork()
        if pid == 0:
            live(config)
        _, status = os.waitpid(pid, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
