"""English sentences by code; the Fluent files have the same."""

from typing import Final

SENTENCES: Final[dict[str, str]] = {
    # the text as a whole
    "finding-document-empty": "the document is empty",
    "finding-document-large": "the document has {size} bytes, at most {most} are read",
    "finding-document-encoding": "the text is not UTF-8: save it as UTF-8",
    "finding-document-deep": "values are nested deeper than {most} levels",
    "finding-document-wide": "the document has more than {most} values",
    "finding-text-after-end": "there is text after the end of the document",
    # texts and numbers
    "finding-duplicate-key": 'the key "{key}" stands twice in this object, first in line {first}',
    "finding-number-large": "the integer {number} is too large to be exact: write it in quotes",
    "finding-number-not-finite": "{number} is not a number that can be stored",
    "finding-number-form": "{number} is not written as a number",
    "finding-zero-character": "a text may not hold the character NUL",
    "finding-lone-surrogate": "the text holds half of a character ({sign}): write the character itself",
    "finding-control-character": "the character {sign} may not stand here unescaped",
    "finding-bad-escape": "there is no escape {sign}: a backslash itself is written twice",
    # JSON
    "finding-text-unclosed": "the text that begins here has no closing quote in its line",
    "finding-comment-unclosed": "the comment that begins here has no end",
    "finding-comment-form": "a comment begins with //",
    "finding-quotes-form": "a text stands between straight double quotes",
    "finding-key-unquoted": 'the key {key} must stand in quotes: "{key}"',
    "finding-key-missing": "a key in quotes is missing here",
    "finding-colon-missing": 'a colon is missing after the key "{key}"',
    "finding-colon-form": 'a colon and not = stands after the key "{key}"',
    "finding-value-missing": 'the value of the key "{key}" is missing',
    "finding-comma-missing": "a comma is missing before this",
    "finding-comma-extra": "there is a comma too many",
    "finding-word-unknown": "{word} is no JSON value: a text must stand in quotes",
    "finding-character-unexpected": "{sign} may not stand here",
    "finding-bracket-unclosed": "the {sign} that begins here is not closed",
    "finding-bracket-extra": "this {sign} closes nothing",
    "finding-bracket-other": "this {sign} does not match the {open} in line {first}",
    # YAML
    "finding-yaml-syntax": "the YAML cannot be read here: {problem}",
    "finding-yaml-colon": "a second colon in one line: put the text after the first into quotes",
    "finding-yaml-colon-missing": "a key without a colon and a value",
    "finding-yaml-character": "no value may begin with {sign}: put it into quotes",
    "finding-yaml-tab": "a tab in the indentation: use spaces",
    "finding-yaml-indent": "the indentation does not fit the lines above, or a quote is not closed",
    "finding-yaml-flow": "a comma or a closing bracket is missing",
    "finding-yaml-quote": "a text is not closed by its quote",
    "finding-yaml-tag": "the tag {sign} is not supported: put the value into quotes if it is a text",
    "finding-yaml-alias": "anchors and aliases ({sign}) are not supported: write the value out",
    "finding-yaml-merge": "the merge key << is not supported: write the keys out",
    "finding-yaml-key": "a key must be a plain text",
    "finding-yaml-documents": "there is more than one document in the text",
    "finding-yaml-word": "{word} is read as a text: write {value} if true or false is meant, or put it into quotes",
}
