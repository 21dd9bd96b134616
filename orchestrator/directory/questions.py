"""How an unclear sum or date is asked about, Russian and English. Ring 2, text only."""

from typing import Final

from orchestrator.directory.moments import Unclear, WhenReason
from orchestrator.directory.sum_format import format_sum
from orchestrator.directory.sums import SumReason, UnclearSum
from orchestrator.directory.text import Locale

_SUM_QUESTIONS: Final[dict[SumReason, dict[Locale, str]]] = {
    "no_sum": {"ru": "Какая сумма?", "en": "What is the sum?"},
    "two_readings": {"ru": "Какая это сумма?", "en": "Which sum is it?"},
    "negative": {"ru": "Сумма не может быть меньше нуля. Какая сумма?", "en": "A sum cannot be below zero. What is the sum?"},
    "too_large": {"ru": "Сумма больше триллиона. Проверьте, пожалуйста.", "en": "The sum is above a trillion. Please check it."},
    "below_kopeck": {"ru": "В сумме доли копейки. Какая сумма?", "en": "The sum has fractions of a cent. What is the sum?"},
    "more_than_sum": {"ru": "Не понял сумму. Напишите её одним числом.", "en": "I did not get the sum. Please write it as one number."},
}
_DATE_QUESTIONS: Final[dict[WhenReason, dict[Locale, str]]] = {
    "no_date": {"ru": "На какую дату?", "en": "For what date?"},
    "which_day": {"ru": "Какого числа?", "en": "On which day?"},
    "which_hour": {"ru": "В котором часу?", "en": "At what hour?"},
    "impossible": {"ru": "Такой даты или времени нет. Когда?", "en": "There is no such date or time. When?"},
    "several": {"ru": "Здесь несколько дат или часов. Какая нужна?", "en": "There are several dates or hours here. Which one?"},
    "mismatch": {"ru": "День недели и дата не сходятся. Когда?", "en": "The weekday and the date do not agree. When?"},
    "repeats": {"ru": "Повторять я не умею. На какую дату?", "en": "I cannot repeat things. For what date?"},
    "too_far": {"ru": "Это больше чем через десять лет. Верна ли дата?", "en": "That is more than ten years ahead. Is the date right?"},
}


def format_sum_question(unclear: UnclearSum, *, locale: Locale = "ru") -> str:
    """The question for a sum, with its readings: «Какая это сумма? 1,50 или 1 500»."""
    readings = (" или " if locale == "ru" else " or ").join(
        format_sum(option.amount, option.currency, locale=locale) for option in unclear.options
    )
    question = _SUM_QUESTIONS[unclear.reason][locale]
    return f"{question} {readings}" if unclear.reason == "two_readings" else question


def format_date_question(unclear: Unclear, *, locale: Locale = "ru") -> str:
    """The question for a date."""
    return _DATE_QUESTIONS[unclear.reason][locale]
