"""The bodies of requests that hand in a flow or an agent."""

from typing import Annotated, Any, ClassVar, Final

from pydantic import ConfigDict, Field

from bot.http_api.definitions.request_body import DocumentBody, Key, Note, Sample


class CheckedBody(DocumentBody):
    """The body of a request to check a definition: as JSON data in `definition`, or as the text of a file in `text`."""

    FIELD: ClassVar[str] = "definition"
    NOTE: ClassVar[str] = "changeNotes"
    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": ["definition"]}, {"required": ["text"]}]})
    document: Annotated[Any, Field(alias="definition", description="The definition as JSON data.")] = None


class CreatedBody(CheckedBody):
    """The body of a request that makes a new version of a flow, whose name is its flowId."""

    note: Annotated[Note, Field(alias="changeNotes")] = ""


class SavedBody(CreatedBody):
    """The body of a request that replaces the text of a draft."""

    revision: Annotated[int | None, Field(ge=1, le=999_999_999, description="The revision that the caller saw, as If-Match.")] = None


class CreatedAgentBody(CreatedBody):
    """The body of a request that makes a new version of an agent, of a new key or of one that is there."""

    key: Key


FLOW_SAMPLE: Final = Sample(
    document={
        "flowId": "offer",
        "metadata": {"title": "Draft of an offer", "tags": ["sales"]},
        "steps": [
            {"id": "draft", "agentVersionId": "writer", "transitions": {"onSuccess": {"next": "review"}}},
            {"id": "review", "agentVersionId": "writer", "prompt": "Check the offer.", "transitions": {"onSuccess": {"complete": True}}},
        ],
    },
    text="flowId: offer\nmetadata: {title: Draft of an offer}\nsteps:\n  - {id: draft, agentVersionId: writer}  # a comment\n",
    beside={},
)
AGENT_SAMPLE: Final = Sample(
    document={"title": "Writer", "systemPrompt": "You write offers.", "defaultOptions": {"temperature": 0.4}},
    text="title: Writer\nsystemPrompt: You write offers.\n",
    beside={"key": "writer"},
)
