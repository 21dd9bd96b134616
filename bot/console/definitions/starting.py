"""What stands in the editor when somebody begins something new: a correct and short definition of its kind."""

from typing import Final

from bot.console.visit import Visit
from engines.flows.core.agents import KIND as AGENT
from engines.flows.core.kind import FLOW
from engines.scenarios.core.authoring.first import FirstTexts, build_first
from engines.scenarios.core.kind import KIND as SCENARIO
from engines.workflows.core.kind import TUUM, WORKFLOW
from state.stored import JsonObject

_KEY: Final = "new_one"


def build_start(visit: Visit, kind: str) -> JsonObject:
    """Return the document with which something new of this kind begins; an empty one for a kind that is not known here."""
    title = visit.say("console-new-title")
    match kind:
        case x if x == SCENARIO:
            texts = FirstTexts(
                hello=visit.say("scenario-new-hello", name=title),
                summary=visit.say("scenario-new-summary"),
                done=visit.say("scenario-new-done"),
            )
            return build_first(title, "", [visit.say("console-new-question")], "say", texts)
        case x if x == AGENT:
            return {"title": title, "systemPrompt": visit.say("console-new-prompt")}
        case x if x == FLOW:
            step = {"id": "first", "agentVersionId": "", "transitions": {"onSuccess": {"complete": True}}}
            return {"flowId": _KEY, "metadata": {"title": title}, "steps": [step]}
        case x if x == TUUM:
            return _build_tuum(visit, title)
        case x if x == WORKFLOW:
            tuum = _build_tuum(visit, title)
            return {"workflowId": _KEY, "metadata": {"title": title}, "tuums": [tuum], "terminal": {"rawText": "answer"}}
        case _:
            return {}


def _build_tuum(visit: Visit, title: str) -> JsonObject:
    return {
        "tuumId": "first",
        "metadata": {"title": title},
        "outputMappings": {"answer": "ai_final_output"},
        "promptRunes": [{"runeType": "prompt", "template": visit.say("console-new-prompt")}],
        "aiService": "tool",
    }
