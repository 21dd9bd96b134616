"""The demo model goes wrong on request, in every way a real one does; and it starts and refuses to start clearly."""

import os
import socket
import subprocess
from typing import Any

import httpx
import pytest

from orchestrator.domain.errors import ModelClientError
from orchestrator.engines.crm_agent.blocks import parse
from tests.contract.sandbox_model_kit import ROOT, raw, turn
from tests.forker import forked

DEALS = turn("мои сделки")


async def order(client: httpx.AsyncClient, **fault: Any) -> None:
    """Order a fault."""
    assert (await client.post("/sandbox/faults", json=fault)).status_code == 200


@pytest.mark.parametrize(("kind", "finish"), [("no_format", "stop"), ("truncated", "length")])
async def test_a_broken_answer_is_refused_by_the_products_parser(client: httpx.AsyncClient, kind: str, finish: str) -> None:
    """Answers without format or cut in the middle cannot be read; the scripted answer waits for the retry."""
    await client.post(
        "/sandbox/script", json={"answers": ['THOUGHT: t\nACTION: [{"method": "crm.deal.get", "params": {"id": 1}}]\nASSISTANT: a']}
    )
    await order(client, kind=kind)
    answer = (await client.post("/v1/chat/completions", json={"messages": DEALS})).json()["choices"][0]
    assert answer["finish_reason"] == finish
    with pytest.raises(ModelClientError):
        parse(answer["message"]["content"])
    assert parse(await raw(client, DEALS)).steps[0].method == "crm.deal.get"


def test_a_busy_port_is_one_sentence_and_code_2() -> None:
    """No traceback: the port is named, the exit code is 2."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = forked("-m", "sandbox.model", "--port", str(port))
        ended = subprocess.run(
            command, capture_output=True, text=True, timeout=60, env={**os.environ, "PYTHONIOENCODING": "utf-8"}, cwd=ROOT, check=False
        )
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert str(port) in ended.stderr
    assert "Traceback" not in ended.stderr
