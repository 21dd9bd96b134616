"""Recognizes «да» and «нет», typed in a private chat, as decisions about an open card (request for confirmation).

A typed «да» approves only harmless calls (class "W", plain writes). All other calls must be approved with the button.
"""

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
"""Matches the beginning of texts that are refusals, whatever follows; «не против» and «не вопрос» do not match."""
_BECAUSE = re.compile(
    rf"(?:{_WORDS.join_patterns('card', 'before_reason')})(?:[,.:;!]\s*|\s+[—–-]\s+)(?P<why>\S.*)", re.IGNORECASE | re.DOTALL
)
_PROMPTS = tuple(Translator(locale).translate("edit-new-value", field="").strip() for locale in ("ru", "en"))
"""The beginning of the bot's question for a new value of a card, in each language."""
_LONGEST_REASON = 500


@dataclass(frozen=True, kw_only=True)
class OpenCard:
    """A card (request for confirmation) that waits for a decision, and the id of the message that shows it."""

    confirmation_id: str
    nonce: str
    message_id: str
    call_class: str
    taps: int
    home: str = ""
    """The run that the card belongs to, as a session key; "" for a card of the chat itself."""
    is_last: bool | None = None
    """Whether the card is the bot's last message in the chat; None if that is unknown."""


def may_decide(message: Message, content: MessageContent) -> bool:
    """Return whether the message could decide about an open card. If it could not, the caller need not look up the open cards."""
    if message.text is None or message.chat.type != "private" or content.is_foreign or message.edit_date is not None:
        return False
    return is_yes(content.words) or is_no(content.words) or _BECAUSE.fullmatch(content.words) is not None


def is_yes(text: str) -> bool:
    """Return whether `text` consists of a word of consent and nothing else."""
    return _normalize_words(text) in _YES


def is_no(text: str) -> bool:
    """Return whether `text` consists of a word of refusal and nothing else."""
    return _normalize_words(text) in _NO


def is_refusal(text: str) -> bool:
    """Return whether `text` begins with words of refusal, such as «нет» or «не надо»; any words may follow."""
    return _AGAINST.match(text.strip()) is not None


def extract_reason(text: str) -> str:
    """Return the reason from a text of the form «нет, потому что …», or the whole `text` if it has another form."""
    because = _BECAUSE.fullmatch(text.strip())
    return because["why"] if because else text


def _normalize_words(text: str) -> str:
    return text.lower().strip(" .!")


def parse_typed_decision(message: Message, content: MessageContent, cards: tuple[OpenCard, ...], make: RowBuilder) -> ParsedUpdate | None:
    """Return the decision about one of the open `cards` that a message expresses; None if the message does not answer a card.

    If the message answers a card but may not decide it, a notice to the sender is returned that says why. «Да» approves only plain writes
    that need a single confirmation. «Нет, потому что …» in reply to a card denies it and stores the reason. Messages that are forwarded,
    edited or composed by another bot never decide.
    """
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
    """Return whether the message replies to the bot's question for a new value of a card's field.

    «Да» and «нет» are then that value, and decide no card.
    """
    answered = message.reply_to_message
    if answered is None or answered.from_user is None or not answered.from_user.is_bot:
        return False
    return any(line.startswith(_PROMPTS) for line in (answered.text or "").splitlines())


def _find_meant_card(message: Message, cards: tuple[OpenCard, ...]) -> OpenCard | None:
    """Return the card that a typed answer is about, or None if that is not clear.

    If the answer is a reply, this is the card in the message that it replies to. Otherwise it is the only open card, provided that the card
    is the last message of the chat before the answer.
    """
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
