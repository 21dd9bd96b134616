"""A flow that does everything a flow can: it reads, calculates, tries a step again, keeps memory, proposes changes and tells. Plain data.

Its model is a function of what it is asked, so that programs that die and begin anew hear the same, and each question has a name of its own.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from engines.flows.core.engine import FlowEngine
from engines.flows.core.operations import OPERATIONS

ANSWER = "ответ на "
MISTAKE = "Your last answer"
AGENTS: dict[str, Any] = {
    "reader": {"systemPrompt": "Ты читаешь", "tools": ["crm.deal.get", "calculate"]},
    "clerk": {"systemPrompt": "Ты предлагаешь", "effects": ["crm.deal.update", "crm.timeline.comment.add"]},
    "teller": {"systemPrompt": "Ты рассказываешь"},
}
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("crm_deal_get", {"params": json.dumps({"id": 481})}),
    ("calculate", {"expression": "100 + 20%"}),
)
QUESTIONS = ("Ты читаешь/0", "Ты читаешь/2", "Ты предлагаешь/0", "Ты предлагаешь/0/снова", "Ты рассказываешь/0")
"""The questions of one run, by name: the part of the agent, how many tools have answered, and whether it is told of a mistake."""


def build_acting_flow(key: str = "act") -> dict[str, Any]:
    """The flow under this key."""
    return {
        "flowId": key,
        "metadata": {"title": "Всё сразу"},
        "memory": {"sharedChannels": [{"id": "facts", "retentionVersions": 2}]},
        "steps": [
            {"id": "read", "agentVersionId": "reader", "memoryWrites": [{"channel": "facts"}], "transitions": _lead("propose")},
            {
                "id": "propose", "agentVersionId": "clerk", "memoryReads": [{"channel": "facts"}], "maxAttempts": 2,
                "transitions": _lead("tell"),
            },
            {"id": "tell", "agentVersionId": "teller", "memoryReads": [{"channel": "facts"}]},
        ],
        "outputs": {"resultPayload": {"told": "$steps.tell.output.content"}},
    }  # fmt: skip


async def find_agents(versions: list[str], /) -> Mapping[str, object]:
    """Those of the agents that are asked for."""
    return {one: AGENTS[one] for one in versions if one in AGENTS}


def build_engine() -> FlowEngine:
    """The engine of flows with these agents."""
    return FlowEngine(find_agents)


def _lead(following: str) -> dict[str, Any]:
    return {"onSuccess": {"next": following}}


def name_question(messages: Sequence[Mapping[str, Any]]) -> str:
    """The name of the question that these messages ask, "" if it is none of this flow."""
    part = str(messages[0]["content"]).partition("\n")[0]
    if part not in {agent["systemPrompt"] for agent in AGENTS.values()}:
        return ""
    again = "/снова" if str(messages[-1]["content"]).startswith(MISTAKE) else ""
    return f"{part}/{sum(one['role'] == 'tool' for one in messages)}{again}"


def answer_question(name: str, operations: Sequence[Mapping[str, Any]]) -> tuple[str, Sequence[tuple[str, dict[str, Any]]]]:
    """What the model answers to a question: its text, and the tools that it asks for. Its first proposal cannot be taken."""
    text = f"{ANSWER}{name}"
    if name == QUESTIONS[0]:
        return text, CALLS
    if name == QUESTIONS[2]:
        return json.dumps({OPERATIONS: [{"method": "crm.deal.delete", "params": {"id": 481}}], "said": text}, ensure_ascii=False), ()
    if name == QUESTIONS[3]:
        return json.dumps({OPERATIONS: list(operations), "said": text}, ensure_ascii=False), ()
    return text, ()


def find_question(output: object) -> str:
    """The name of the question to which this was the answer, as a node of the model gives it."""
    text = str(output["text"] if isinstance(output, Mapping) else output)
    if text.startswith("{"):
        text = str(json.loads(text)["said"])
    return text.removeprefix(ANSWER)
