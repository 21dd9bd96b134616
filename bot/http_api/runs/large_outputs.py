from orchestrator.engines.runs import RunFailed
from orchestrator.runs.memo import load_output
from state.events.runs import NodeDone
from state.journal.async_store import AsyncStore
from state.journal.store import StoredEvent


async def load_large_output(event: StoredEvent, store: AsyncStore) -> StoredEvent:
    """Without the output if the blob is gone."""
    if event.type != NodeDone.__name__ or not event.data.get("output_blob"):
        return event
    try:
        output = (await load_output(NodeDone.from_data(event.data), store)).data
    except RunFailed:
        return event._replace(erased=True)
    return event._replace(data={**event.data, "output": output, "output_blob": ""})
