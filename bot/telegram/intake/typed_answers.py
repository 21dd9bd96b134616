"""Recognizes typed «да» and «нет» in a private chat. «Да» approves only plain writes (class "W")."""

import re
from dataclasses import dataclass

from aiogram.types import Message

from bot.i18n.translate import Translator
from bot.telegram.intake.message_content import MessageContent
from bot.telegram.intake.routed_updates import ParsedUpdate, RowBuilder
from orchestrator.domain.inputs import CardDecision
from orchestrator.domain.outputs import Notice
from orchestrator.language.lexicon import load_lexicon

_WORDS = load_lexicon("answers")
_YES = frozenset(_WORDS.read_words("card", "yes"))
_NO = frozenset(_WORDS.read_words("card", "no"))
_AGAINST = re.compile(rf"(?:{_WORDS.join_patterns('card', 'refusals')})(?!\w)", re.IGNORECASE)
"""«не против» and «не вопрос» do not match."""
_BECAUSE = re.compile(
    rf"(?:{_WORDS.join_patterns('card', 'before_reason')})(?:[,.:;!]\s*|\s+[—–-]\s+)(?P<why>\S.*)", re.IGNORECASE | re.DOTALL
)
_PROMPTS = tuple(Translator(locale).translate("edit-new-value", field="").strip() for locale in ("ru", "en"))
"""How the bot asks for a new value of a card."""
_LONGEST_REASON = 500


@dataclass(frozen=True, kw_only=True)
class OpenCard:
    """An open card and its message."""

    confirmation_id: str
    nonce: str
    message_id: str
    call_class: str
    taps: int
    home: str = ""
    """A session key; "" for a card of the chat itself."""
    is_last: bool | None = None
    """The bot's last message in the chat; None if unknown."""


def may_decide(message: Message, content: MessageContent) -> bool:
    """If not, open cards need not be looked up."""
    if message.text is None or message.chat.type != "private" or content.is_foreign or message.edit_date is not None:
        return False
    return is_yes(content.words) or is_no(content.words) or _BECAUSE.fullmatch(content.words) is not None


def is_yes(text: str) -> bool:
    return _normalize_words(text) in _YES


def is_no(text: str) -> bool:
    return _normalize_words(text) in _NO


def is_refusal(text: str) -> bool:
    return _AGAINST.match(text.strip()) is not None


def extract_reason(text: str) -> str:
    """Of «нет, потому что …»; else the whole text."""
    because = _BECAUSE.fullmatch(text.strip())
    return because["why"] if because else text


def _normalize_words(text: str) -> str:
    return text.lower().strip(" .!")


def parse_typed_decision(message: Message, content: MessageContent, cards: tuple[OpenCard, ...], make: RowBuilder) -> ParsedUpdate | None:
    """None if no card is answered, a notice if the message may not decide it. Forwarded and edited messages never decide."""
    if not cards or not may_decide(message, content) or _answers_value_question(message):
        return None
    word = _normalize_words(content.words)
    because = _BECAUSE.fullmatch(content.words)
    meant = _find_meant_card(message, cards)
    if because is not None and word not in _YES | _NO:
        return (
            _build_decision(meant, make, approve=False, reason=because["why"][:_LONGEST_REASON]) if meant and _is_reply(message) else None
        )
    if meant is None:
        return make.build_answer(Notice(code="which-card")) if len(cards) > 1 else None
    if word in _YES and (meant.call_class != "W" or meant.taps > 1):
        return make.build_answer(Notice(code="only-button"))
    return _build_decision(meant, make, approve=word in _YES)


def _build_decision(meant: OpenCard, make: RowBuilder, *, approve: bool, reason: str = "") -> ParsedUpdate:
    card_decision = CardDecision(confirmation_id=meant.confirmation_id, nonce=meant.nonce, approve=approve, via="typed")
    return make.build(card_decision.model_copy(update={"reason": reason}) if reason else card_decision, "express", session=meant.home)


def _is_reply(message: Message) -> bool:
    return message.reply_to_message is not None


def _answers_value_question(message: Message) -> bool:
    """«Да» is then a value, and decides no card."""
    answered = message.reply_to_message
    if answered is None or answered.from_user is None or not answered.from_user.is_bot:
        return False
    return any(line.startswith(_PROMPTS) for line in (answered.text or "").splitlines())


def _find_meant_card(message: Message, cards: tuple[OpenCard, ...]) -> OpenCard | None:
    """None if it is unclear which card is meant."""
    if message.external_reply is not None or message.reply_to_story is not None:
        return None  # it answers a message in another chat
    if message.reply_to_message is not None:
        replied_id = str(message.reply_to_message.message_id)
        return next((card for card in cards if card.message_id == replied_id), None)
    if len(cards) != 1 or not cards[0].message_id.isdecimal():
        return None
    before = message.message_id - int(cards[0].message_id)
    # message ids are shared by all private chats of a bot, so a difference of 1 proves it
    last = before == 1 if cards[0].is_last is None else cards[0].is_last and before > 0
    return cards[0] if last else None
