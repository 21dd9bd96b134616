# Mistakes in scenarios, flows, workflows and scripts: what is wrong and how to mend it. Place and suggestion are shown beside it.
finding-more = Only the first { $most } mistakes are listed: mend these first.
finding-document-empty = The document is empty.
finding-document-large = The document has { $size } bytes, at most { $most } are read.
finding-document-encoding = The text is not UTF-8: save it as UTF-8.
finding-document-deep = Values are nested deeper than { $most } levels.
finding-document-wide = The document has more than { $most } values.
finding-text-after-end = There is text after the end of the document.
finding-duplicate-key = The key “{ $key }” stands twice in this object, first in line { NUMBER($first, useGrouping: 0) }.
finding-number-large = The integer { $number } is too large to be exact: write it in quotes.
finding-number-not-finite = { $number } is not a number that can be stored.
finding-number-form = { $number } is not written as a number.
finding-zero-character = A text may not hold the character NUL.
finding-lone-surrogate = The text holds half of a character ({ $sign }): write the character itself.
finding-control-character = The character { $sign } may not stand here unescaped.
finding-bad-escape = There is no escape { $sign }: a backslash itself is written twice.
finding-text-unclosed = The text that begins here has no closing quote in its line.
finding-comment-unclosed = The comment that begins here has no end.
finding-comment-form = A comment begins with //.
finding-quotes-form = A text stands between straight double quotes.
finding-key-unquoted = The key { $key } must stand in quotes: “{ $key }”.
finding-key-missing = A key in quotes is missing here.
finding-colon-missing = A colon is missing after the key “{ $key }”.
finding-colon-form = A colon and not = stands after the key “{ $key }”.
finding-value-missing = The value of the key “{ $key }” is missing.
finding-comma-missing = A comma is missing before this.
finding-comma-extra = There is a comma too many.
finding-word-unknown = { $word } is no JSON value: a text must stand in quotes.
finding-character-unexpected = { $sign } may not stand here.
finding-bracket-unclosed = The { $sign } that begins here is not closed.
finding-bracket-extra = This { $sign } closes nothing.
finding-bracket-other = This { $sign } does not match the { $open } in line { NUMBER($first, useGrouping: 0) }.
finding-yaml-syntax = The YAML cannot be read here: { $problem }.
finding-yaml-colon = A second colon in one line: put the text after the first into quotes.
finding-yaml-colon-missing = A key without a colon and a value.
finding-yaml-character = No value may begin with { $sign }: put it into quotes.
finding-yaml-tab = A tab in the indentation: use spaces.
finding-yaml-indent = The indentation does not fit the lines above, or a quote is not closed.
finding-yaml-flow = A comma or a closing bracket is missing.
finding-yaml-quote = A text is not closed by its quote.
finding-yaml-tag = The tag { $sign } is not supported: put the value into quotes if it is a text.
finding-yaml-alias = Anchors and aliases ({ $sign }) are not supported: write the value out.
finding-yaml-merge = The merge key << is not supported: write the keys out.
finding-yaml-key = A key must be a plain text.
finding-yaml-documents = There is more than one document in the text.
finding-yaml-word = { $word } is read as a text: write { $value } if true or false is meant, or put it into quotes.
finding-check-failed = This document cannot be checked as a definition of kind { $kind }: tell the administrator.
finding-definition-key = “{ $key }” is no key: it begins with a Latin letter or a digit and has at most { $most } letters, digits, - and _.
finding-field-missing = The field “{ $name }” is missing.
finding-field-unknown = There is no field “{ $name }” here.
finding-field-shape = “{ $name }” must be { $shape ->
    [object] an object
    [list] a list
    [number] a number
    [integer] a whole number
    [boolean] true or false
   *[text] a text
}.
finding-field-empty = “{ $name }” is empty.
finding-name-twice = The name “{ $name }” stands twice.
finding-value-unknown = “{ $value }” is none of { $known }.
finding-one-of = Exactly one of these is needed: { $known }.
finding-value-least = “{ $name }” must be at least { $bound }.
finding-value-least-open = “{ $name }” must be more than { $bound }.
finding-value-most = “{ $name }” must be at most { $bound }.
finding-value-most-open = “{ $name }” must be less than { $bound }.
finding-text-long = “{ $name }” is too long: at most { $bound } characters.
finding-list-long = “{ $name }” is too long: at most { $bound } elements.
finding-definition-key-other = The definition is called “{ $name }”, and it is saved as “{ $key }”.
finding-value-critical = { $source ->
    [model] The value comes from a model
   *[person] The value comes from a person’s answer
}, and { $field } is critical: a card asks before it is written.
finding-reference-unknown = There is no { $kind } “{ $name }”.
finding-reference-draft = The { $kind } “{ $name }” is still a draft: it has to be published.
finding-reference-off = The { $kind } “{ $name }” is switched off.
finding-value-unfit = “{ $name }” does not fit: { $problem }.
finding-step-id-twice = There is a step “{ $name }” already.
finding-step-type-unknown = There is no type of steps “{ $name }”.
finding-action-type-unknown = There is no action “{ $name }”.
finding-step-target-unknown = There is no step “{ $name }”.
finding-step-target-variable = A run goes to a step that its author names, not to one that a variable does: “{ $name }”.
finding-branch-condition-missing = The branch has no condition: write `condition`.
finding-branch-ways-missing = The branch leads nowhere: write `branches` with if and else.
finding-field-elsewhere = The field “{ $name }” has an effect only in a step of type branch.
finding-loop-endless = The steps { $names } repeat without end: there is no question, wait or condition between them.
finding-step-unreachable = Nothing leads to this step.
finding-variable-unset = Nothing sets the variable “{ $name }”: whoever starts the scenario has to give it.
finding-variable-reserved = The name “{ $name }” is taken: only the program sets names with “__”.
finding-variable-program = The value of “{ $name }” has no effect: the program itself says for whom, where and when a scenario runs.
finding-mapping-missing = Without output_mapping the sub-scenario overwrites all variables of the same names.
finding-pattern-wrong = The expression `regex` cannot be read: { $problem }.
finding-step-internal = { $name } answers from all that the company knows, so it is not for a scenario for customers.
finding-scenario-elsewhere = No file beside this one is called “{ $name }”: a scenario of this key has to be published.
finding-scenario-name-missing = The scenario has no name: people will see its key instead.
finding-flow-step-unknown = There is no step “{ $name }”.
finding-flow-sync-only = syncOnly is always true: steps of flows do not stream.
finding-flow-field-excluded = Flows have no field “{ $name }”: maxAttempts says how often a step is tried.
finding-flow-success-open = complete is false and no next step is named: it is not known what follows.
finding-flow-next-unused = complete is true, so the next step never follows.
finding-flow-loop-endless = The steps { $names } repeat without end: none of them ends the flow.
finding-flow-step-unreachable = Nothing leads to this step.
finding-flow-payload-missing = A write of mode STATIC without payload writes nothing.
finding-flow-payload-unused = The payload has no effect: AGENT_OUTPUT writes the agent’s answer.
finding-flow-number-usual = “{ $name }” below 1 counts as { $usual }.
finding-flow-default-unfit = The default is no { $type }.
finding-flow-choice-unfit = The choice is no { $type }.
finding-flow-default-no-choice = The default is none of the choices.
finding-flow-reference-unknown = “{ $name }” names no step of this flow.
finding-flow-reference-form = “{ $name }” is no path: one looks like { $example }.
finding-flow-title-missing = The flow has no title: people will see its name instead.
finding-script-long = The script has { $size } characters, at most { $most } are read.
finding-script-syntax = The script cannot be read: { $problem }.
finding-script-unsupported = Scripts cannot do this: { $problem }.
finding-script-name = The name { $name } is not known here.
finding-script-doubtful = This will probably fail: { $problem }.
finding-script-raised = The script failed with { $kind }: { $problem }.
finding-script-time = The script ran longer than { $most } s.
finding-script-memory = The script used more memory than it may.
finding-script-recursion = Functions of the script call each other too deeply.
finding-script-calls = The script called functions more than { $most } times.
finding-script-prints = The script printed more than { $most } bytes.
finding-script-input = { $name } cannot be given to a script: { $problem }.
finding-script-result = The script must end with JSON data: { $problem }.
finding-script-busy = Too many scripts are running: try again later.
finding-script-crashed = The process that ran the script has ended: { $problem }.
