"""A nursery of whole bot processes, doors and all: forks one for each line of JSON on its input and answers with its process id.

A bot ends with SIGTERM as in production, or with SIGKILL as in the test; what it said is in its log.
"""

import asyncio
import gc
import importlib
import json
import logging
import os
import signal
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from bot.composition import process
from bot.settings.settings import Settings
from bot.telegram import leader_election
from orchestrator.runtime import worker
from orchestrator.sessions import session
from state.journal import process_lease

log = logging.getLogger(__name__)

DEADLINE = 180


def live(config: dict[str, Any]) -> None:
    """The life of one bot; leaves by os._exit."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.alarm(DEADLINE)
    folder = Path(config["folder"])
    output = os.open(folder / f"{config['name']}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s {os.getpid()} %(levelname)s %(message)s")
    for noisy in ("httpx", "aiogram.event"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    if config["lease"] is not None:
        session.LEASE = worker.LEASE = leader_election.LEASE = process_lease.PROCESS_LEASE = timedelta(seconds=config["lease"])
    address = f"http://127.0.0.1:{config['port']}"
    settings = Settings(
        _env_file=None,
        telegram_bot_token=SecretStr(config["token"]),
        telegram_api_base=address,
        openai_api_base=f"{address}/v1",
        openai_api_key=SecretStr("lab"),
        bitrix_webhook_url=SecretStr(f"{address}/rest/1/lab/"),
        bitrix_plan="off",
        agent_mode="full",
        access_file=folder / "access.yaml",
        database_url=SecretStr(config["database_url"]),
        state_dir=folder / "state",
        log_dir=folder / "logs",
    )
    try:
        asyncio.run(process.run_bot(settings, ready=lambda: log.info("the bot is ready")))
    except BaseException:
        log.exception("the bot failed")
        os._exit(1)
    log.info("the bot ended")
    os._exit(0)


def main() -> None:
    """The nursery."""
    for name in ("httpcore", "anyio._backends._asyncio", "psycopg", "alembic.command", "sqlalchemy.dialects.postgresql.psycopg"):
        importlib.import_module(name)
    gc.freeze()  # a collection in a bot would copy every page of the nursery
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the dead leave no traces here
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            live(json.loads(line))
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
