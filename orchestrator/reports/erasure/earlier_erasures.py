"""Tells what an earlier erasure of a person left unproven: who is erased again has no texts left that could be searched for."""

from orchestrator.reports.reading.journal_reader import read_stream
from state.events.people import PersonErased
from state.journal.encryption import DamagedCiphertext
from state.journal.store import StoreUnwritable
from state.sql.store import SqlStore

OPS = "ops"
"""The session whose journal records who was erased, when and by whom."""
_NOTHING = "nothing of the person is known any more to search for"


def find_unproven_erasure(store: SqlStore, person: str) -> str:
    """Return why the last erasure of a person that searched for their texts is no proof; "" if it is one, or if nobody was erased.

    A record from before the program counted the searched texts counts as a search if it removed anything.
    """
    try:
        stored = [event for event in read_stream(store, f"session:{OPS}") if event.type == PersonErased.__name__]
    except (DamagedCiphertext, StoreUnwritable):
        return f"{_NOTHING}, and the record of the earlier erasure cannot be read"
    mine = [(event.ts, PersonErased.from_data(event.data)) for event in stored]
    searched = [(ts, said) for ts, said in mine if said.person == person and (said.probes > 0 or (said.probes < 0 and said.removed))]
    erased = [row.erased_at for row in store.open_erasure().list_keys() if row.person == person and row.erased_at]
    if not searched:
        return f"{_NOTHING}, and an earlier erasure was broken off before its search" if erased else ""
    ts, last = searched[-1]
    if max(erased, default="") > ts:
        return f"{_NOTHING}, and the erasure of {max(erased)} was broken off before its search"
    if last.remains:
        return f"{_NOTHING}, and the erasure of {ts} found {last.remains} places that still held their texts: look whether they are gone"
    return f"{_NOTHING}, and the erasure of {ts} could not prove that all is gone" if last.unproven else ""
