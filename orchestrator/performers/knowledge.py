"""Performs effects of kind `knowledge`: answers from the catalogue, the journal and documents; the portal gives only names."""

from typing import Protocol

from bitrix.catalogue.catalogue import Catalogue
from orchestrator.domain.errors import ServiceFailed
from orchestrator.domain.own_reads import DOCUMENTS, HELP, DocumentAnswer, HelpTexts, RecordHistory
from orchestrator.gate.call.effect import BeforeImage, Call
from orchestrator.gate.call.gate_deps import PolicySource
from orchestrator.gate.call.kinds.knowledge_methods import DocumentQuestion, HistoryQuestion
from orchestrator.gate.call.ports import CallResult, Reconciled, Rejected, Succeeded
from orchestrator.language.text import Locale
from orchestrator.performers.method_help import describe_method
from state.journal.store import StoreError


class Histories(Protocol):
    async def read(self, *, target: str, zone: str, locale: Locale, texts: bool) -> RecordHistory:
        """Return its newest changes; with `texts` also long ones. Raises StoreError."""


class Documents(Protocol):
    async def ask(self, question: str, *, person: str, role: str) -> DocumentAnswer:
        """Search what this role may read, at the cost of `person`. Raises ServiceFailed."""


class KnowledgePerformer:
    portal = ""
    is_application = True

    def __init__(self, catalogue: Catalogue, policies: PolicySource, texts: HelpTexts, histories: Histories, documents: Documents) -> None:
        self._catalogue = catalogue
        self._policies = policies
        self._texts = texts
        self._histories = histories
        self._documents = documents

    async def execute(self, call: Call) -> CallResult:
        if call.method == HELP:
            text = describe_method(str(call.params["method"]), self._catalogue, self._policies.now(), self._texts)
            return Succeeded(result={"text": text})
        if call.method == DOCUMENTS:
            return await self._ask_documents(DocumentQuestion.model_validate(call.params))
        question = HistoryQuestion.model_validate(call.params)
        try:
            history = await self._histories.read(target=question.record, zone=question.zone, locale=question.locale, texts=question.texts)
        except StoreError as error:
            return Rejected(code="history-unread", detail=f"the journal cannot be read: {error}", sent=False)
        return Succeeded(result=history.to_json(), total=history.total, foreign_text=history.has_prose)

    async def _ask_documents(self, document_question: DocumentQuestion) -> CallResult:
        try:
            answer = await self._documents.ask(document_question.question, person=document_question.person, role=document_question.role)
        except ServiceFailed as error:
            return Rejected(code="documents-unavailable", detail=f"the documents cannot be searched: {error.reason}", sent=False)
        return Succeeded(result=answer.to_json(), total=len(answer.passages), foreign_text=True)

    async def reconcile(self, call: Call, before: BeforeImage) -> Reconciled:
        """Always unclear: a question is asked again."""
        del call, before
        return Reconciled(verdict="unclear")
