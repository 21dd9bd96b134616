"""What a confirmation card shows of its call: the preview that the gate builds, the journal keeps and every door renders."""

from collections.abc import Sequence

from orchestrator.domain.frozen import View


class PreviewLine(View):
    """One change, in the words of the person who gets the card."""

    field: str = ""
    """The field's code in the portal."""
    name: str = ""
    before: str = ""
    """The present value, "" for none."""
    after: str = ""


class PreviewPart(View):
    """One record and what a call changes in it."""

    verb: str = ""
    """add, update, delete, batch, or the last word of an action's method."""
    entity: str = ""
    id: int | str | None = None
    title: str = ""
    url: str = ""
    made_url: str = ""
    """For a record that the call creates: the address of its page with {id} in place of the number."""
    lines: Sequence[PreviewLine] = ()
    key: str = ""
    """The name of the command in its batch; "" for a single call."""
    method: str = ""
    """The method of the command; "" for a single call."""


class Preview(PreviewPart):
    """The preview of a call: of one record, or with `items` of a batch."""

    items: Sequence[PreviewPart] = ()
    count: int = 1
    sum: str = ""
    """The total of a batch's sums, formatted."""
    mode: str = ""
    """The safety mode in which the call was planned, where it was none that writes."""
