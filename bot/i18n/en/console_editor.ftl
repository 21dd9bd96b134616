# The editor of definitions in the console.
console-new-title = New
console-new-question = What is your name?
console-new-prompt = Answer the manager's question briefly.
console-editor-back = ← Versions
console-editor-new = New definition
console-editor-key = Key, in Latin letters
console-editor-title = Title
console-editor-text = Text of the definition. To leave it with the keyboard: Esc, then Tab.
console-editor-save = Save draft
console-editor-save-first = Save the draft first: what is stored is published.
console-editor-is-saved = The draft is saved: version { $number }. It comes into force when it is published.
console-editor-left-out = { $count ->
    [one] One field of the form was saved as it was before: its new value does not fit, and the form says why.
   *[other] { $count } fields of the form were saved as they were before: their new values do not fit, and the form says why.
  }
console-editor-unchecked = The text cannot be checked now: the database does not answer. It is tried again by itself.
console-editor-unsaved = Not saved
console-editor-saved = Saved: version { $number }, a draft
console-editor-published = Published: version { $number }
console-editor-newer = { $who } has saved version { $number }, { $moment }. This editor holds the text before it.
console-editor-not-last = Not the last one
console-editor-findings = Findings ({ $count })
console-editor-view-chart = Graph
console-editor-view-text = Text
console-editor-view-both = Both
console-editor-close = Close the panel
console-editor-graph-name = Graph of the definition
console-editor-no-graph = The graph appears when the text can be read.
console-editor-marked = findings: { $count }
console-editor-form = Form
console-editor-comments-lost = The text is written anew as { $format } and loses its comments, also if you go back to the present format later.
console-editor-unreadable = Mend the text first: it cannot be read at the moment, so it cannot be written in another form.
console-conflict-title = Somebody else was first
console-conflict-key-taken = There is a definition of this key already: version { $number }, { $who }, { $moment }. Your text is not lost: choose another key, or open what is there.
console-conflict-theirs = Stored now
console-conflict-mine = Your text
console-conflict-later = Back to the text
console-conflict-take = Take theirs
console-conflict-unreadable = { $who } saved version { $number }, { $moment }. Your text cannot be read at the moment, so it cannot be merged: mend it, or take theirs. Below is how it differs.
console-merge-title = You both changed the same thing
console-merge-told = { $who } saved version { $number }, { $moment }. All else is merged; choose what stays in these places.
console-merge-mine = Mine: { $value }
console-merge-theirs = Theirs: { $value }
console-merge-all = { $whose ->
    [mine] Mine
   *[theirs] Theirs
  } everywhere
console-merge-order = { $place }: the order
console-merge-comments = Comments
console-merge-removed = removed
console-merge-save = Save it so
console-merge-put = Bring it into my text
console-merge-done = Merged with what { $who } saved. From there: { $theirs }. Yours: { $mine }.
console-merge-taken = This is now the text that { $who } saved. Changed: { $theirs }.
