"""Recognizes «да» and «нет» typed in a private chat and binds them to an open card; consent by words works for harmless classes only."""

import re
from dataclasses import dataclass

from aiogram.types import Message

from bot.telegram.intake.message_content import is_foreign
from bot.telegram.intake.routed_updates import ParsedUpdate, RowBuilder
from orchestrator.domain.inputs import CardDecision
from orchestrator.domain.outputs import Notice
from orchestrator.language.lexicon import load_lexicon

_WORDS = load_lexicon("answers")
_YES = frozenset(_WORDS.read_words("card", "yes"))
_NO = frozenset(_WORDS.read_words("card", "no"))
_AGAINST = re.compile(rf"(?:{_WORDS.join_patterns('card', 'refusals')})(?!\w)", re.IGNORECASE)
"""Matches texts that begin as a refusal, whatever follows; «не против» and «не вопрос» do not match."""
_BECAUSE = re.compile(
    rf"(?:{_WORDS.join_patterns('card', 'before_reason')})(?:[,.:;!]\s*|\s+[—–-]\s+)(?P<why>\S.*)", re.IGNORECASE | re.DOTALL
)
_LONGEST_REASON = 500
_LONGEST_WORD = 20
"""Maximum length of a one-word answer; «подтверждаю!» is shorter."""


@dataclass(frozen=True, kw_only=True)
class OpenCard:
    """A card that waits for a decision, with the message that shows it."""

    confirmation_id: str
    nonce: str
    message_id: str
    call_class: str
    taps: int
    is_last: bool | None = None
    """Whether the card is the bot's last message in the chat; None where that is unknown."""


def may_decide(message: Message) -> bool:
    """Return whether the text could decide a card, so that the open cards are worth looking up."""
    text = (message.text or "").strip()
    return bool(text) and (len(text) <= _LONGEST_WORD or _BECAUSE.fullmatch(text) is not None)


def is_yes(text: str) -> bool:
    """Return whether `text` consists of a word of consent and nothing else."""
    return _normalize_words(text) in _YES


def is_no(text: str) -> bool:
    """Return whether `text` consists of a word of refusal and nothing else."""
    return _normalize_words(text) in _NO


def is_refusal(text: str) -> bool:
    """Return whether `text` begins as a refusal; no other reply to a card rejects it."""
    return _AGAINST.match(text.strip()) is not None


def extract_reason(text: str) -> str:
    """Return the reason in «нет, потому что …», or all of `text` where it has no such form."""
    because = _BECAUSE.fullmatch(text.strip())
    return because["why"] if because else text


def _normalize_words(text: str) -> str:
    return text.lower().strip(" .!")


def parse_typed_decision(message: Message, text: str, cards: tuple[OpenCard, ...], make: RowBuilder) -> ParsedUpdate | None:
    """Return the decision the words express, a notice why they decide nothing, or None if they are no answer to a card.

    Forwarded, edited and inline-bot messages never decide; «да» decides harmless classes only. «Нет, потому что …» as a reply to a card
    also gives its reason.
    """
    word = _normalize_words(text)
    because = _BECAUSE.fullmatch(text.strip())
    if not cards or message.chat.type != "private" or not (word in _YES | _NO or because):
        return None
    if is_foreign(message) or message.edit_date is not None:
        return None
    meant = _find_meant_card(message, cards)
    if because is not None and word not in _YES | _NO:
        return (
            _build_decision(meant, make, approve=False, reason=because["why"][:_LONGEST_REASON]) if meant and _is_reply(message) else None
        )
    if meant is None:
        return ParsedUpdate(session=make.session, say=Notice(code="which-card")) if len(cards) > 1 else None
    if word in _YES and (meant.call_class != "W" or meant.taps > 1):
        return ParsedUpdate(session=make.session, say=Notice(code="only-button"))
    return _build_decision(meant, make, approve=word in _YES)


def _build_decision(meant: OpenCard, make: RowBuilder, *, approve: bool, reason: str = "") -> ParsedUpdate:
    said = CardDecision(confirmation_id=meant.confirmation_id, nonce=meant.nonce, approve=approve, via="typed")
    return make.build(said.model_copy(update={"reason": reason}) if reason else said, "express")


def _is_reply(message: Message) -> bool:
    return message.reply_to_message is not None


def _find_meant_card(message: Message, cards: tuple[OpenCard, ...]) -> OpenCard | None:
    """Return the card a typed answer refers to: the one it replies to, or the only open one if it was the bot's last message."""
    if message.external_reply is not None or message.reply_to_story is not None:
        return None  # it answers a message in another chat
    if message.reply_to_message is not None:
        wanted = str(message.reply_to_message.message_id)
        return next((card for card in cards if card.message_id == wanted), None)
    if len(cards) != 1 or not cards[0].message_id.isdecimal():
        return None
    before = message.message_id - int(cards[0].message_id)
    # message ids are shared by all private chats of a bot, so a difference of 1 proves it
    last = before == 1 if cards[0].is_last is None else cards[0].is_last and before > 0
    return cards[0] if last else None
