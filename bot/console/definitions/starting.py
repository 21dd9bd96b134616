"""What stands in the editor when somebody begins something new: a correct and short definition of its kind."""

from bot.console.visit import Visit
from bot.plugins.kind_face import KIND_FACE
from bot.plugins.loading import find_part_of_kind
from state.stored import JsonObject


def build_start(visit: Visit, kind: str) -> JsonObject:
    """Return the document with which something new of this kind begins; an empty one for a kind that shows nothing."""
    face = find_part_of_kind(KIND_FACE, kind)
    return face.begin(visit.say) if face is not None else {}
