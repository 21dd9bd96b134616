"""Files and calls for tests of `sdelka workflow`."""

import json
from pathlib import Path
from typing import Any

from engines.workflows.terminal import app as workflow_app
from tests.unit.engines.scenarios.terminal import scenario_files

DEALS = """\
tuumId: deals
runes:
  - {runeType: query, method: crm.deal.list, params: {filter: {COMPANY_ID: "{{company}}"}}, output: rows}
outputMappings: {deals: rows}
"""
ADVICE = """\
workflowId: advice
metadata: {title: Совет}
triggers: {ui: false, api: false}
triggerParameters: [{name: company, description: Номер компании?}, {name: top, type: number, required: false}]
tuums:
  - tuumId: advise
    metadata: {title: Совет менеджеру}
    promptRunes:
      - {runeType: prompt, template: "Сделки: {{deals}}"}
      - {runeType: set, variable: pieces, value: 0}
    aiService: tool
    isStreaming: true
    chunkCallback:
      consumes: [ai_stream_output_total, pieces]
      produces: [pieces]
      source: |
        await show(ai_stream_output_total)
        {"pieces": pieces + 1}
    mainScript: {consumes: [ai_final_output, ai_error], produces: [said], source: '{"said": ai_error or ai_final_output}'}
    outputMappings: {said: said, pieces: pieces}
  - tuum: deals
  - tuumId: propose
    mainScript:
      consumes: [deals, said]
      produces: [told]
      source: |
        for deal in deals:
            await emit({"operationType": "ModifyEntity", "entityType": "deal", "entityId": deal["ID"], "attributeKey": "COMMENTS",
                        "modifyOperator": "=", "modifyValue": said})
        {"told": f"Совет:\\n[YAE-BLOCK:quote]{said}[/YAE-BLOCK]"}
    outputMappings: {told: told}
terminal: {rawText: told}
"""


def write_files(folder: Path) -> None:
    """Write a workflow with a tuum of its own file."""
    (folder / "tuums").mkdir()
    (folder / "tuums" / "deals.yaml").write_text(DEALS, encoding="utf-8")
    (folder / "advice.yaml").write_text(ADVICE, encoding="utf-8")


def call(*words: object, typed: str = "") -> tuple[int, str]:
    """Exit code and all that was shown, errors as `sdelka` shows them."""
    return scenario_files.call(*words, typed=typed, app=workflow_app.app)


def call_json(*words: object, typed: str = "") -> tuple[int, list[Any]]:
    """The same with --json: the exit code and the objects, one a line."""
    code, told = call(*words, "--json", typed=typed)
    return code, [json.loads(line) for line in told.splitlines() if line.startswith("{")]
