"""`sdelka flow record`: makes a finished run of the journal a test that `sdelka flow test` plays."""

from bot.cli.author.recording import Recording
from bot.cli.definition_files import load_classes
from engines.flows.rehearsal.recording import complete_flow_recording, read_flow_recording
from state.journal.async_store import AsyncStore


async def take_run(run_id: str, store: AsyncStore) -> Recording:
    """Return a run of a flow as a test. Raises NotRecordable."""
    recorded = await read_flow_recording(run_id, store)
    return Recording(key=recorded.key, case=await complete_flow_recording(recorded, load_classes()))
