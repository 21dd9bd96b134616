# Undo and history.
button-undo = ↩ Undo
# Under an answer that tells of several changes.
button-undo-of = ↩ Undo: { $name }
button-undo-several = all changes of the batch ({ $count })
button-undo-ask = ↩ Ask a lead to take it back
undo-asked = Asked to take it back: { $who }
undo-no-lead = Only a lead who sees this record can take it back, and there is none. Please ask the administrator
undo-request = ↩ { $who } asks to take this back: { call-named }. Somebody else owns the record now
button-undo-return = ↩ Take it back
undo-returned = ↩ Taken back as you asked: “{ $what }” ({ $who })
undo-not-returned = ✖ Not taken back: “{ $what }” ({ $who })
card-undo = ↩ Put back as it was
card-undone = ↩ Undone { $on } · { $who }
undo-shown = Check the card: what will be put back
undo-refused = Not undone, see the chat for the reason
undo-elsewhere = This was not done in this chat: undo it where it was done
undo-not-yours = Only { $who } or a lead may undo this
undo-none = The bot cannot undo this: put it back in Bitrix24 by hand
undo-unsupported = The bot cannot undo this: put it back { $service ->
    [database] in the database
    [site] at the site
    [files] in the file
    [telegram] in the chat
   *[portal] in Bitrix24
  } by hand
undo-of-undo = This is an undo already. If you want the change after all, ask for it again
undo-not-done = Nothing to undo: this was not carried out
undo-partly = Not all of it was carried out, so it cannot be undone as a whole: put it back in Bitrix24 by hand
undo-same-record = One record was changed several times in this set, so it cannot be undone
undo-late = Too late: this could be undone until { $at }
undo-done = Undone already { $on }
undo-open = The card of the undo is waiting already
undo-running = The undo is running already
undo-unknown = The undo was sent and its outcome is unknown: check the record
undo-too-often = The undo of this was declined too many times
undo-gone = Record No. { $id } was deleted: there is nothing to put back
undo-nothing = Nothing to undo: no value changed then
undo-already-so = Everything is as it was before already
undo-funnel = The bot does not undo a move to another funnel: the former stage is not recorded
undo-one-way = Bitrix24 does not let this be put back: { gate-field }
undo-no-before = It is not known what stood there before: { gate-field }
undo-not-writable = Bitrix24 does not take the former value: { gate-field }
undo-file-gone = The bot does not keep the former file any more, so it cannot be brought back
undo-sum = The amount was not computed from the products: with the former products back, Bitrix24 would compute it anew. Put them back in Bitrix24 by hand
undo-add-closed = What was created can only be removed by deleting it, which the company's rules do not allow
undo-worked-on = Not undone: somebody has worked on record No. { $id } since, which its deletion would lose. Remove it in Bitrix24 by hand
undo-changed = Not undone: the record was changed since. Now { gate-field } is “{ $now }”{ $more ->
    [0] {""}
    [one] {" "}(and { $more } more field changed)
   *[other] {" "}(and { $more } more fields changed)
  }. { $known ->
    [yes] Last changed by { $who }. I do not touch what others wrote
   *[other] I do not touch what others wrote
  }
undo-in-turn = This record was changed again later: take the later change back first
# Which of several changes stays, and why.
undo-not-taken = Not taken back: { call-named }. { $why }
undo-more-not = { $count ->
    [one] { $count } more change cannot be taken back
   *[other] { $count } more changes cannot be taken back
  }
undo-further = { $count ->
    [one] { $count } earlier change is left: ask again when you have decided about these
   *[other] { $count } earlier changes are left: ask again when you have decided about these
  }
history-head = History: { history-kind }
history-kind = { $entity ->
    [deal] deal
    [lead] lead
    [contact] contact
    [company] company
    [task] task
    [activity] activity
    [comment] comment
    [item] item
   *[other] record
  }
history-deleted = the record is gone
history-unread = The journal cannot be read now, so I cannot show the history of the record. Please try later.
history-none = Nobody has changed this record through me.
history-call = { $status ->
    [succeeded] ✅
    [refused] ⚠️ not carried out
    [denied] ✖ declined
    [expired] ⌛ nobody decided in time
    [requested] ⏳ waits for a decision
    [unknown] ❓ outcome unknown
   *[other] ⏳ running
  }
history-decided = { $status ->
    [denied] declined by { $who }
   *[other] approved by { $who }
  }
history-via = { $via ->
    [button] with a button
    [typed] in words
    [cli] in the terminal
    [console] in the console
    [api] over HTTP
    [model] the agent withdrew it
   *[other] { $via }
  }
history-self = themselves
history-free = without a card
history-undo = ↩ undo
history-undone = ↩ undone: { $when }
history-portal = in Bitrix24, not through me
history-other = { $doing ->
    [none] an action in Bitrix24 ({ $method })
   *[other] { $doing }
  }
history-page = page { $page } of { $pages } · entries: { $total }
history-which = Which record? For example: /history 481 for a deal, /history Vector, /history task 8017, “history of company 5”.
history-turned = Page { $page }
button-history-record = { $label }
button-history-older = More ▸
button-history-newer = ◂ Newer
bulk-undo = ↩ Take all of it back
bulk-of = { $of ->
    [deal] { $count ->
        [one] deal
       *[other] deals
    }
    [lead] { $count ->
        [one] lead
       *[other] leads
    }
    [contact] { $count ->
        [one] contact
       *[other] contacts
    }
    [company] { $count ->
        [one] company
       *[other] companies
    }
    [task] { $count ->
        [one] task
       *[other] tasks
    }
   *[other] { $count ->
        [one] record
       *[other] records
    }
}
bulk-did = { $verb ->
    [add] Made
    [handover] Handed over
    [undo] Taken back
   *[other] Changed
}
bulk-stopped = ⏹ Stopped. { bulk-did }: { $made } of { $count } { bulk-of }
