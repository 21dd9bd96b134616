"""A workflow that does everything a workflow can: it reads, asks two models side by side, one with a callback, and adds to sums. Plain data.

Its model is that of `acting_flow`: a function of what it is asked, so that programs that die and begin anew hear the same.
"""

from collections.abc import Mapping
from typing import Any

from tests.unit.engines.flows.acting_flow import ANSWER

QUESTIONS = ("слева: Ромашка", "справа: Ромашка", "итог: 1 и 2")
"""What the models are asked in one run; the last one is told what the scripts have made of the first two answers."""
SAID = f"{ANSWER}{QUESTIONS[2]}"
"""The text of the result."""
_READ = 'deal = await get_entity("deal", 481)\n{"title": deal["TITLE"].split(" ")[0]}'
_CALLBACK = 'await show(ai_stream_output_total)\n{"heard": heard + ai_stream_output_added}'
_LEFT = '{"left": 1 if heard == ai_final_output else 0}'
_ADD = """
for deal, more in (481, first), (482, second), (481, 1):
    await emit({"operationType": "ModifyEntity", "entityType": "deal", "entityId": deal, "attributeKey": "OPPORTUNITY",
                "modifyOperator": "+=", "modifyValue": more})
{"said": ai_final_output}
"""


def build_acting_workflow(first: int, second: int, key: str = "weave") -> dict[str, Any]:
    """The workflow under this key; it adds `first` and one more to the sum of deal 481, and `second` to that of 482, on one card."""
    return {
        "workflowId": key,
        "metadata": {"title": "Всё сразу"},
        "terminal": {"rawText": "said"},
        "tuums": [
            {
                "tuumId": "join",
                "promptRunes": [
                    {"runeType": "set", "variable": "first", "value": first},
                    {"runeType": "set", "variable": "second", "value": second},
                    {"runeType": "prompt", "template": "итог: {{left}} и {{right}}"},
                ],
                "aiService": "tool",
                "mainScript": _script(_ADD, "first second ai_final_output", "said"),
                "outputMappings": {"said": "said"},
            },
            {
                "tuumId": "right",
                "promptRunes": [{"runeType": "prompt", "template": "справа: {{title}}"}],
                "aiService": "tool",
                "runes": [
                    {
                        "runeType": "regex", "input": "ai_final_output", "pattern": "(справа): (?P<title>.+)", "group": "title",
                        "output": "found",
                    }
                ],
                "mainScript": _script('{"right": 2 if found == title else 0}', "found title", "right"),
                "outputMappings": {"right": "right"},
            },
            {
                "tuumId": "left",
                "promptRunes": [
                    {"runeType": "prompt", "template": "слева: {{title}}"},
                    {"runeType": "set", "variable": "heard", "value": ""},
                ],
                "aiService": "tool",
                "isStreaming": True,
                "chunkCallback": _script(_CALLBACK, "heard ai_stream_output_added ai_stream_output_total", "heard"),
                "mainScript": _script(_LEFT, "heard ai_final_output", "left"),
                "outputMappings": {"left": "left"},
            },
            {"tuumId": "read", "mainScript": _script(_READ, "", "title"), "outputMappings": {"title": "title"}},
        ],
    }  # fmt: skip


def _script(source: str, consumes: str, produces: str) -> Mapping[str, Any]:
    return {"source": source, "consumes": consumes.split(), "produces": produces.split()}
