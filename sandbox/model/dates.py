"""Finds a phrase such as «в пятницу в 11» or «за прошлый месяц» in a message. It returns the words; the product decides what they mean."""

import re

from sandbox.model.text import Span, fold, mask, quotes

_DAYS_RU = r"понедельник\w{0,2}|вторник\w{0,2}|сред[ауеы](?!\w)|четверг\w{0,2}|пятниц\w{1,2}|суббот\w{1,2}|воскресень[ею]"
_DAYS_EN = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_MONTHS_RU = r"январ\w|феврал\w|марта?|апрел\w|мая|июн\w|июл\w|август\w?|сентябр\w|октябр\w|ноябр\w|декабр\w"
_MONTHS_EN = (
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?"
    r"|aug(?:ust)?|sep(?:t|tember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
_COUNT = (
    r"(?:\d+|пару|полтора|полчаса|один|одну|два|две|три|четыре|пять|шесть|семь|десять|a|an|one|two|three|four|five|six|seven|ten|couple of)"
)
_PIECE_RU = r"(?:минут\w?|час\w{0,2}|день|дня|дней|недел\w{1,2}|месяц\w{0,2}|год\w?|лет|квартал\w?)"
_THAT = r"(?:следующ\w+|эт\w{1,3}|ближайш\w+|будущ\w+|текущ\w+)"
_PATTERNS = (
    r"\d{4}-\d{2}-\d{2}(?:[t ]\d{2}:\d{2})?",
    r"(?<![\d.,])\d{1,2}\.\d{2}(?:\.\d{2,4})?(?!\s?(?:млн|тыс|%|k|m|\d|[.,]\d))",
    rf"\d{{1,2}}(?:-?го)?\s(?:{_MONTHS_RU})(?!\w)(?:\s\d{{4}}(?:\s(?:года?|г\.))?)?",
    rf"(?:{_MONTHS_EN})\.?\s\d{{1,2}}(?:st|nd|rd|th)?(?!\d)(?:,?\s\d{{4}})?",
    rf"\d{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?(?:{_MONTHS_EN})(?!\w)(?:\s\d{{4}})?",
    r"послезавтра|завтра|сегодня|the day after tomorrow|tomorrow|today|tonight",
    rf"(?:(?:до|к|в|на)\s)?кон(?:ец|ц\w{{1,2}})\s(?:{_THAT}\s)?(?:дня|недели|месяца|квартала|года)",
    r"(?:(?:by|before|until|at|to)\s)?(?:the\s)?end of (?:the |this |next )?(?:day|week|month|quarter|year)",
    rf"через\s(?:{_COUNT}\s)?{_PIECE_RU}",
    rf"in\s{_COUNT}\s(?:minute|hour|day|week|month|year)s?",
    rf"(?:(?:в|во|на|к|ко|до)\s)?{_THAT}\s(?:недел\w{{1,2}}|месяц\w{{0,2}}|квартал\w?|{_DAYS_RU})",
    rf"(?:(?:on|by|until|till|for|to)\s)?(?:next|this)\s(?:week|month|quarter|{_DAYS_EN})",
    rf"(?:(?:в|во|на|к|ко|до)\s)?(?:{_DAYS_RU})(?!\w)",
    rf"(?:(?:on|by|until|till|for|to)\s)?{_DAYS_EN}",
)
_LAST = r"(?:прошл\w{2,3}|позапрошл\w{2,3}|эт\w{1,3}|текущ\w{2,3}|последн\w{2,3})"
_PERIOD_RU = r"(?:недел[июяею]|месяц\w?|квартал\w?|год[ау]?|дн(?:я|ей))"
_PERIOD_EN = r"(?:week|month|quarter|year|days?|weeks|months)"
_PAST = re.compile(
    rf"(?<![\w№#])(?:позавчера|вчера|сегодня|yesterday|today"
    rf"|(?:(?:за|на|в)\s)?{_LAST}\s(?:{_COUNT}\s)?{_PERIOD_RU}|за\s(?:{_COUNT}\s)?{_PERIOD_RU}"
    rf"|с\sначала\s(?:недели|месяца|квартала|года)|(?:за|в)\s(?:{_MONTHS_RU})"
    rf"|(?:(?:for|in|over)\s)?(?:the\s)?(?:last|past|this)\s(?:{_COUNT}\s)?{_PERIOD_EN}|since\s(?:{_DAYS_EN}|{_MONTHS_EN})"
    rf"|(?:year|month|quarter)\sto\sdate|in\s(?:{_MONTHS_EN}))(?!\w)"
)
_TIME = (
    r"(?:,?\s(?:(?:в|к|at|by)\s)?\d{1,2}[:.]\d{2}(?!\d|\.)|,?\s(?:в|к|at)\s\d{1,2}(?:\s?(?:час\w{0,2}|утра|вечера|дня|am|pm)(?!\w)|(?!\s?[\w.,№]))"
    r"|\s(?:утром|днем|вечером|в полдень|at noon))"
)
_DATE = re.compile(rf"(?<![\w№#])(?:{'|'.join(_PATTERNS)})(?:{_TIME})?(?!\w)")
_DROP = re.compile(r"(?:на|к|ко|for|to|by)\s", re.IGNORECASE)
_RELATIVE = re.compile(rf"(?:на|к|ко)\s{_THAT}\s")
_WEEKDAY_RU = re.compile(rf"(?:на|к|ко)\s(?:{_DAYS_RU})")
_WEEKDAY_EN = re.compile(rf"(?:by|for|to)\s{_DAYS_EN}")


def date_phrase(text: str) -> Span | None:
    """Return the first date phrase in a text, with its time of day; None if there is none.

    The text of the span has a preposition that fits a date value: «к пятнице» becomes «в пятницу».
    """
    match = _DATE.search(fold(mask(text, quotes(text))))
    if match is None:
        return None
    return Span(match.start(), match.end(), _plain(text[match.start() : match.end()]))


def past_phrase(text: str) -> Span | None:
    """Return the first phrase in a text for a past period or day, such as «за прошлый месяц» or "last week"; None if there is none."""
    match = _PAST.search(fold(mask(text, quotes(text))))
    return Span(match.start(), match.end(), text[match.start() : match.end()]) if match is not None else None


def _plain(phrase: str) -> str:
    folded = fold(phrase)
    if _WEEKDAY_RU.match(folded):
        day = _accusative(phrase.split(maxsplit=1)[1])
        return f"{'во' if fold(day).startswith('вторник') else 'в'} {day}"
    if _WEEKDAY_EN.match(folded):
        return f"on {phrase.split(maxsplit=1)[1]}"
    dropped = None if _RELATIVE.match(folded) else _DROP.match(phrase)
    return phrase[dropped.end() :] if dropped else phrase


def _accusative(day: str) -> str:
    """Return a phrase with the Russian weekday at its beginning in the accusative: «пятнице утром» becomes «пятницу утром»."""
    for pattern, ending in (
        (r"^(понедельник|вторник|четверг)у", r"\1"),
        (r"^(сред|суббот)е", r"\1у"),
        (r"^(пятниц)е", r"\1у"),
        (r"^(воскресень)ю", r"\1е"),
    ):
        day = re.sub(pattern, ending, day)
    return day
