"""The tool that answers from the company's documents, through the RAG service (S001-47 … 50, 58 … 67)."""

import logging
from itertools import zip_longest

from pydantic import BaseModel, Field

from engines.tool_agent.core.toolbox import ServiceCall, Tool, ToolAnswer, ToolPorts, build_message, call_service
from orchestrator.domain.outputs import Passage, Text


class RagSearchParams(BaseModel):
    """What the tool needs to know."""

    question: str = Field(description="The question, short and in the words of the person.")


class Found(BaseModel):
    """A good answer of POST /search (S001-64)."""

    answer: str
    chunk_title_list: list[str]
    chunk_texts: list[str]
    sources: list[str] = Field(default_factory=list)
    shown_texts: list[str] = Field(default_factory=list)
    plain_answer: str = ""
    """Without titles and passages, for doors that show passages themselves; a service need not give it."""


SEARCH = ServiceCall(service="rag", path="/search", answer=Found, action="answer_question", refused="Search")


async def search_documents(params: RagSearchParams, ports: ToolPorts) -> ToolAnswer:
    top_k = ports.settings.rag_top_k
    asker = {"roles": list(ports.asker.roles), "asked_by": ports.asker.key} if ports.asker is not None else {}
    fault = await call_service(SEARCH, {"question": params.question, "top_k": top_k, **asker}, ports)
    if not isinstance(fault, Found):
        return ToolAnswer(messages=(build_message(TOOL.build_code("failed"), is_kept=True),), fault=fault)
    parts = list(zip_longest(fault.chunk_title_list, fault.chunk_texts, fault.sources, fault.shown_texts, fillvalue=""))
    passages = tuple(Passage(title=title, text=shown or text, source=source) for title, text, source, shown in parts if title or text)
    chunks = "".join(f"\n{number}. {title}\n{text}" for number, (title, text, *_) in enumerate(parts, start=1) if title or text)
    ports.note(logging.DEBUG, f"rag_chunks_message: {chunks or 'none'}")
    return ToolAnswer(
        messages=(
            build_message(TOOL.build_code("answer"), is_kept=True, answer=fault.answer),
            build_message(TOOL.build_code("titles"), top_k=str(top_k), titles=", ".join(fault.chunk_title_list)),
        ),
        parts=(Text(text=fault.plain_answer or fault.answer), *passages),
        is_prose=True,
    )


TOOL = Tool(
    name="rag_search",
    description="Answers a question from the company's documents: regulations, instructions, price lists, contracts.",
    params=RagSearchParams,
    limits={"question": lambda settings: settings.question_maxlen},
    run=search_documents,
)
