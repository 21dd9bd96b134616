# The pages of conversations in the console.
console-conversations = Conversations
console-conversation = Conversation
console-talk-none = There are no conversations yet.
console-talk-not-found = Nobody with that name.
console-talk-search = Name
console-talk-group = Group { $chat }
console-talk-cards = { $count ->
    [one] { $count } card waits
   *[other] { $count } cards wait
  }
console-talk-unknown = { $count ->
    [one] { $count } outcome unknown
   *[other] { $count } outcomes unknown
  }
console-talk-older = Show earlier
console-talk-more = Show more
console-talk-end-button = To the end
console-talk-list = All conversations
console-talk-details = Details
console-talk-quoted = Text of somebody else that came along
console-talk-thought = Thoughts of the model
console-talk-thought-of = Thoughts of the model ({ $model })
console-talk-erased = (erased on the person's wish)
console-talk-why = Look into the call
console-talk-kind = { $kind ->
    [asked] Request
    [thought] Thoughts
    [proposed] Proposed
    [read] Read
    [card] Card
    [decided] Decision
    [sent] Sent
    [outcome] Result
    [refused] Refused
    [failed] Failure
    [question] Question
    [answered] Answer
   *[notice] Event
  }
console-talk-origin = { $origin ->
    [voice] by voice
    [choice] chosen by button
    [button] by button
    [portal] a change in Bitrix24
   *[typed] {""}
  }
console-talk-only-planned = The plan was only recorded, nothing was sent
console-talk-model-failed = The model did not answer, or not in the agreed form
console-talk-found = found: { $count }
console-talk-unchanged = Bitrix24 does not hold what was sent: { $fields }
console-talk-outcome = { $state ->
    [executed] Done
    [refused] Not done
   *[unknown] Outcome unknown: the answer was lost
  }
console-talk-verdict = { $verdict ->
    [done] Checked: it was done
    [not_done] Checked: it was not done
   *[unclear] Checked: still unclear
  }
console-talk-decision = { $state ->
    [approved] Approved
    [denied] Denied
    [expired] Nobody decided in time
    [superseded] The card was closed: it does not fit any more
   *[requested] The card waits for a decision again
  }
console-talk-not-counted = The decision did not count
console-talk-end = { $reason ->
    [limit] Stopped: too many steps
    [degraded] Went on without the model
    [planned] Only planned: nothing is sent in this mode
    [stopped] Stopped by a person
    [budget] Ended without the model: the budget of the month is used up
   *[failed] The request could not be carried out
  }
console-talk-resumed = Goes on: the last card is decided
console-talk-cleared = The conversation was begun anew
console-talk-stopped = Stopped by /stop
console-talk-dropped = The request was not carried out: it had been stopped
console-talk-edited = The message was edited
console-talk-reminder-set = A reminder was set
console-talk-reminded = The reminder was sent
console-talk-reminder-dropped = The reminder was dropped
console-talk-daily = The daily message was sent
console-talk-budget = { $percent } % of the budget of the month is used
console-talk-entered = Logged in to the console
console-talk-edit = A change of the card was begun
console-talk-chosen = Chosen
