"""Removes secrets and links to unknown hosts from the output of a turn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bitrix.masking import SHORTEST_SECRET, SecretMask
from orchestrator.domain.outputs import DayPart, Notice, Passage, Reply, ReplyPart, ReportPart, SheetPart, Table, Text
from orchestrator.domain.report import ReportAnswer
from orchestrator.language.links import extract_addresses, find_allowed_links, strip_unknown_links


@dataclass(frozen=True, slots=True, kw_only=True)
class TextGuard:
    """Links may point to `hosts`."""

    hosts: frozenset[str] = frozenset()
    secrets: SecretMask = field(default_factory=SecretMask)

    def clean_partial(self, text: str, *, locale: str) -> str:
        """`locale` is of the words that replace a link."""
        return strip_unknown_links(self.secrets.mask(text), self.hosts, locale=locale)

    def clean_data(self, data: Any, *, locale: str) -> Any:
        """Keys of objects stay."""
        match data:
            case str() if len(data) < SHORTEST_SECRET and data.isalnum():
                return data  # pictures of progress have many such words: the states of steps
            case str():
                return self.clean_partial(data, locale=locale)
            case Mapping():
                return {key: self.clean_data(value, locale=locale) for key, value in data.items()}
            case list() | tuple():
                return [self.clean_data(value, locale=locale) for value in data]
        return data

    def clean_reply(self, reply: Reply, person_text: str, *, locale: str) -> Reply:
        """Links that the person wrote in `person_text` are kept."""
        own = extract_addresses(person_text)
        parts = tuple([self._clean_part(part, own, locale=locale) for part in reply.parts])
        links = [link for part in parts if isinstance(part, Text) for link in find_allowed_links(part.text, self.hosts, own)]
        return reply.model_copy(
            update={
                "parts": parts,
                "links": tuple(dict.fromkeys(links)),
                "sections": tuple([(self._mask_notice(title), self._mask_table(table)) for title, table in reply.sections]),
                "notices": tuple(map(self._mask_notice, reply.notices)),
                "choices": tuple([choice.model_copy(update={"label": self.secrets.mask(choice.label)}) for choice in reply.choices]),
            }
        )

    def _clean_part(self, part: ReplyPart, own: frozenset[str], *, locale: str) -> ReplyPart:
        match part:
            case Text():
                return Text(text=strip_unknown_links(self.secrets.mask(part.text), self.hosts, locale=locale, addresses=own))
            case Passage():
                return Passage(
                    title=self.secrets.mask(part.title), text=self.secrets.mask(part.text), source=self.secrets.mask(part.source)
                )
            case ReportPart():
                return part.model_copy(update={"answer": ReportAnswer.model_validate(self._mask_nested(part.answer.to_json()))})
            case SheetPart():
                return SheetPart.model_validate(self._mask_nested(part.model_dump(mode="json")))
            case DayPart():
                return DayPart.model_validate({"body": self._mask_nested(part.body)})
            case _:
                return self._mask_table(part)

    def _mask_table(self, table: Table) -> Table:
        return table.model_copy(
            update={
                "columns": tuple(map(self.secrets.mask, table.columns)),
                "rows": tuple(
                    row.model_copy(update={"label": self.secrets.mask(row.label), "cells": tuple(map(self.secrets.mask, row.cells))})
                    for row in table.rows
                ),
            }
        )

    def _mask_notice(self, notice: Notice) -> Notice:
        return notice.model_copy(update={"args": {key: self._mask_nested(value) for key, value in notice.args.items()}})

    def _mask_nested(self, value: object) -> object:
        if isinstance(value, str):
            return self.secrets.mask(value)
        if isinstance(value, Mapping):
            return {key: self._mask_nested(item) for key, item in value.items()}
        if isinstance(value, Sequence):
            return [self._mask_nested(item) for item in value]
        return value
