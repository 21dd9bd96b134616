"""Who changed a record of the portal, as the program's journal tells it: the answer to history.of, for the model and for the person."""

from collections.abc import Sequence

from orchestrator.domain.frozen import View

NOT_SHOWN = "(text)"
"""What stands in place of a long text that was not asked for."""


class HistoryLine(View):
    """One changed field, in words; a value that is a long text is `NOT_SHOWN`, unless texts were asked for."""

    name: str
    before: str = ""
    after: str = ""


class HistoryChange(View):
    """One change of the record: what was done, when and by whom, who approved it, and what became of it."""

    when: str
    by: str = ""
    """Who asked the bot for it; "" for a change that was made in the portal itself."""
    approved_by: str = ""
    status: str = ""
    did: str = ""
    """The verb and the kind of record, such as "update deal"."""
    undone: str = ""
    lines: Sequence[HistoryLine] = ()


class RecordHistory(View):
    """The changes of one record, the newest first; `total` counts also those that are left out."""

    record: str
    title: str = ""
    total: int = 0
    has_prose: bool = False
    """Whether long texts are in it, which anybody may have written."""
    changes: Sequence[HistoryChange] = ()
