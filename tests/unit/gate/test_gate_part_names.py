"""A command of a batch is named as people name it: by its record, never by the key that the model gave it."""

from typing import Any

import pytest

from bot.i18n.translate import Translator
from orchestrator.gate.call.effect import Facts
from orchestrator.gate.call.reasons import refuse, wrap_in_batch
from orchestrator.gate.normalize.batch import build_command_label


class _Leaf:
    """What is read of a command."""

    entity = "deal"
    method = "crm.deal.update"
    targets = (("deal", 481),)


@pytest.mark.parametrize(
    ("code", "record", "ru", "en"),
    [
        ("gate-already-so", {"TITLE": "Ромашка"}, "из-за сделки «Ромашка» №481: ", "because of the deal “Ромашка” No. 481: "),
        ("gate-unread", None, "из-за сделки №481: ", "because of the deal No. 481: "),
        ("gate-not-yours", {"TITLE": "Тайна"}, "из-за сделки №481: ", "because of the deal No. 481: "),
    ],
)
def test_a_refused_batch_names_the_record(code: str, record: Any, ru: str, en: str) -> None:
    """Kind, title and number; of a record that the person may not see no title."""
    leaf: Any = _Leaf()
    why = refuse(code, id=481, entity="deal", method="crm.deal.update").reason
    about = build_command_label(leaf, Facts(records={("deal", 481): record}), why=code)
    notice = wrap_in_batch("gate-batch-refused", why, key="d481", method=leaf.method, about=about)
    for translator, wanted in ((Translator("ru"), ru), (Translator("en"), en)):
        said = translator.translate_notice(notice)
        assert wanted in said
        assert "d481" not in said
        assert "crm.deal" not in said
        assert "Тайна" not in said
