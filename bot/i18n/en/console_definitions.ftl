# The pages of definitions in the console: scenarios, agents, flows, workflows and their parts.
console-definitions = Definitions
console-definition = Definition
console-definition-edit = Editor
console-definition-new = New definition
console-definitions-search = Title or key
console-definitions-kind = Kind
console-definitions-all = All kinds
console-definitions-states = State
console-definitions-state = { $state ->
    [published] Published
    [draft] With a draft
    [off] Switched off
   *[all] Any
}
console-definitions-new = New
console-templates = Which example to begin with
console-templates-open = From an example…
console-definitions-none = Nothing found.
console-definitions-absent = There are definitions, too, whose programs are not installed: { $kinds }. They are kept, and come back with the programs.
console-definitions-not-yours = Leads and administrators write definitions; you are not asked to.
console-definitions-more = And { $count } more: narrow the search.
console-definitions-back = ← All definitions
console-definition-kind = { $kind }
console-definition-kinds = { $kind }
console-definition-off = Off
console-definition-active = Version { $number } in force
console-definition-unpublished = Not published
console-definition-draft = Draft { $number }
console-definition-number = Version { $number }
console-definition-in-force = In force
console-definition-is-draft = Draft
console-definition-was-published = Was published
console-definition-account = { $door ->
    [http] program { $who }
   *[cli] terminal, { $who }
}
console-definition-written = Text: { $who }, { $moment }
console-definition-published-by = Published by { $who }, { $moment }
console-definition-versions = Versions
console-definition-text = Text of version { $number }
console-definition-open = Show
console-definition-compare = Compare with version { $other }
console-definition-roll-back = Make a draft of it
console-definition-back-in-force = Back in force…
console-definition-rolled-back = The text of version { $number } again
console-definition-draft-made = A draft was made: version { $number }.
console-definition-history = What was done with it
console-definition-did = { $what ->
    [created] version { $number } created
    [saved] version { $number } saved
    [published] version { $number } published
    [deactivated] version { $number } no longer in force
    [switched_off] switched off
    [switched_on] switched on
    [rolled_back] an earlier text taken back, version { $number }
   *[imported] version { $number } loaded from a file
}
console-definition-edit-asked = Edit
console-definition-switch-off = Switch off
console-definition-switch-on = Switch on
console-definition-switch-off-asked = Switch it off? New runs will be refused; those under way go on to their end.
console-definition-switch-on-asked = Switch it on? New runs will be allowed again.
console-definition-note = What has changed and why
console-definition-publish = Publish
console-definition-publish-asked = Publish…
console-definition-publish-title = Publication of version { $number }
console-definition-is-published = Version { $number } is published: new runs execute it.
console-definition-start-now = Start it and see how it works?
console-definition-start-later = Not now
console-definition-publish-stale = While you were looking, { $who } changed this version. Nothing was published. Below is what has changed; check it and decide again.
console-definition-publish-other = While you were looking, version { $number } was put in force. Nothing was published. Below is what your publication would change now; check it and decide again.
console-definition-verdict-good = No mistakes
console-definition-verdict-two = A second person is needed
console-definition-verdict-wrong = It cannot be published: it has mistakes
console-definition-two = It may delete, move money or write to people outside ({ $methods }), so an employee who has not written it publishes it.
console-definition-two-unknown = It cannot be told what it will write, so an employee who has not written it publishes it.
console-definition-not-allowed = { $reason }
console-definition-mistakes = { $count ->
    [one] Not saved: the definition has { $count } mistake.
   *[other] Not saved: the definition has { $count } mistakes.
}
console-definition-stale = Somebody else was first: look at what has changed, and try again.
console-definition-published-already = Version { $number } is published, so its text stays as it is. Save once more to make a new version.
console-definition-unstorable = It cannot be stored: the document is too large or too deep.
console-definition-damaged = The stored text is damaged. Tell the administrator.
console-definition-busy = Somebody else is changing definitions at this moment. Try again.
console-finding-meant = Perhaps: { $meant }
console-finding-go = Line { $line }, column { $column }: show it in the text
console-definition-only-comments = Only comments and the form of the text changed: runs go as they do now.
console-diff-none = There is no difference.
console-diff-nothing = Nothing is published
console-diff-seen = What you saw
console-diff-now = What is there now
console-diff-title = What differs in version { $after } from version { $before }
console-diff-name = Differences: { $before } and { $after }
console-diff-count = Lines added: { $added }, removed: { $removed }
console-diff-more = And more lines: { $count }.
console-close = Close
console-definition-all-versions = Show all versions
console-findings-more = And { $count } more findings: mend these first.
console-definition-graph = Graph of version { $number }
