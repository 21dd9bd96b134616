"""The command /pending, editing of cards, and «Повторить»."""

from functools import partial

from bitrix.catalogue.catalogue import Catalogue
from orchestrator.directory.reference import Reference
from orchestrator.domain.inputs import ADD_TO
from orchestrator.features.cards import open_cards
from orchestrator.features.cards.editing import ANSWER, CardEditor
from orchestrator.features.cards.open_cards import CardRefresher, FindElsewhere
from orchestrator.features.cards.resubmit import ask_again
from orchestrator.turns.feature import Feature
from state.journal.async_store import AsyncStore


def build_feature(catalogue: Catalogue, reference: Reference, store: AsyncStore, find_elsewhere: FindElsewhere) -> Feature:
    """`find_elsewhere` finds cards of other sessions for /pending."""
    editing = CardEditor(catalogue, reference)
    return Feature(
        inbox={
            ANSWER: editing.receive_answer,
            open_cards.REFRESH: open_cards.refresh_open_cards,
            open_cards.SHOW_AGAIN: open_cards.show_again,
        },
        commands={"pending": partial(open_cards.show_pending, find_elsewhere=find_elsewhere)},
        buttons={
            "edit": editing.begin,
            "field": editing.select_field,
            "pick": editing.pick,
            "noedit": editing.cancel,
            ADD_TO: editing.add_to_texts,
            "again": ask_again,
        },
        periodic_tasks=(CardRefresher(store).run,),
    )
