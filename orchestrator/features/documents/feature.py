"""/docs, and files that are sent to the bot."""

from functools import partial

from orchestrator.domain.inputs import DocumentOrder, SentDocument
from orchestrator.domain.outputs import Notice
from orchestrator.domain.shelf import DocumentShelf
from orchestrator.features.documents import handlers, listing, offers, orders
from orchestrator.features.documents.answering import PRESS
from orchestrator.turns.feature import CommandSpec, Feature, Files


def build_feature(shelf: DocumentShelf | None, files: Files | None) -> Feature:
    """Without `shelf` documents are kept elsewhere; without `files` nothing can be sent."""
    taker = orders.OrderTaker(shelf, files)
    return Feature(
        inbox={SentDocument.KIND: partial(handlers.offer_document, shelf=shelf), DocumentOrder.KIND: taker.take},
        commands={"docs": partial(listing.list_documents, shelf=shelf)},
        command_specs={"docs": CommandSpec(menu=Notice(code="menu-docs"), for_admins=True)} if shelf is not None else {},
        buttons={PRESS: partial(handlers.take_press, shelf=shelf)},
        timers={offers.TIMER: offers.forget},
        given_up_inputs={DocumentOrder.KIND: taker.give_up},
    )
