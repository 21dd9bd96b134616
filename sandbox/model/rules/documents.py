"""The rule for questions about the company's own documents: regulations, rules, instructions, price lists."""

from sandbox.model.answers import Answer, Step, say
from sandbox.model.rules.base import Handler, proposing
from sandbox.model.wishes import Wish


def ask(wish: Wish) -> Answer:
    """Propose to ask the documents with the words of the person."""
    question = wish.words.strip(" ?!")
    return proposing(wish, "documents", Step("ask_documents", {"question": question}, comment=say("comment.documents", wish.lang)))


HANDLERS: dict[str, Handler] = {"documents.ask": ask}
