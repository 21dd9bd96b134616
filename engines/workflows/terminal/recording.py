"""`sdelka workflow record`: makes a finished run of the journal a test that `sdelka workflow test` plays."""

from bot.cli.author.recording import Recording
from bot.cli.definition_files import load_classes
from engines.workflows.rehearsal.recording import complete_workflow_recording, read_workflow_recording
from engines.workflows.terminal.files import load_types
from orchestrator.expressions.scripts.runner import ScriptRunner
from state.journal.async_store import AsyncStore


async def take_run(run_id: str, store: AsyncStore) -> Recording:
    """Return a run of a workflow as a test. Raises NotRecordable."""
    recorded = await read_workflow_recording(run_id, store)
    async with ScriptRunner() as scripts:
        completed = await complete_workflow_recording(recorded, load_types(), scripts, load_classes())
    return Recording(key=recorded.key, case=completed.case, left_out=completed.left_out)
