"""`sdelka scenario record`: makes a finished run of the journal a dialogue that `sdelka scenario test` plays."""

from bot.cli.author.recording import Recording
from bot.cli.definition_files import load_classes
from engines.scenarios.rehearsal.recording import complete_recording, read_recording
from engines.scenarios.terminal.files import load_types
from state.journal.async_store import AsyncStore


async def take_run(run_id: str, store: AsyncStore) -> Recording:
    """Return a run of a scenario as a dialogue. Raises NotRecordable."""
    types = load_types()
    recorded = await read_recording(run_id, store, types)
    completed = await complete_recording(recorded, types, load_classes())
    return Recording(key=recorded.key, case=completed.dialogue, left_out=completed.left_out)
