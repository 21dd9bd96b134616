heard = I heard: “{ $words }”
hearing = Listening…
voice-off = Voice is not connected, please write it.
voice-too-long = The recording is too long. Keep it within { $minutes ->
    [one] { $minutes } minute
   *[other] { $minutes } minutes
} or write it.
voice-unavailable = Telegram did not give the recording. Send it again or write it.
voice-failed = The recording could not be transcribed. Try again a little later or write it.
voice-empty = There are no words in the recording. Say it again or write it.
edited = You changed the message, and I had taken the earlier words.
edited-done = You changed the message, but the earlier words are carried out already. If you need something else, write a new message.
button-again = ↻ Do it anew
button-make-lead = Make a lead
button-make-task = Make a task
button-requeue = Put back in the queue
toast-doing = Doing it
toast-already = I am at it already, once is enough
toast-edit-gone = These words are not the latest any more. Send them as a new message
toast-forward-gone = I do not have that message any more. Forward it again
choice-not-yours = This choice is for whoever asked
toast-not-yours = Only whoever sent the message can do that
toast-requeued = { $count ->
    [0] They are back already
    [one] { $count } request put back
   *[other] { $count } requests put back
}
stop-queue = { $count ->
    [one] { $count } more request waited: dropped.
   *[other] { $count } more requests waited: dropped.
}
stop-paused = The cards are still there to be decided as usual, but I will not go on with anything after them.
stop-not-yours = What is running was asked for by somebody else ({ $who }): they or a lead can stop it.
queued = In the queue, number { $place }.
menu-history = Who changed what, such as /history 481
start-deal = Show deal { $number }
start-lead = Show lead { $number }
start-contact = Show contact { $number }
start-company = Show company { $number }
start-task = Show task { $number }
duplicates-found = There is one with that phone or e-mail already:
duplicate-taken = Took the one that is there: { $label }. No new one is made
duplicate-elsewhere = { $name } has one already. Create another?

# A lead becomes a deal, a contact and a company.
lead-customer-found = { $entity ->
    [contact] The lead's contact seems to be there already. Take it, or create a new one?
   *[company] The lead's company seems to be there already. Take it, or create a new one?
}
lead-which = Which lead should become a deal? Name it or give its number
lead-converted = Lead { $id } is converted already: it is not converted twice
lead-junk = Lead { $id } is closed as junk. Take it back into work, then it can become a deal
lead-unwritable = The lead holds a text that cannot be sent to Bitrix24: convert it there
lead-comment-left = The comment of the lead is not copied to the deal, it stays in the lead
lead-fields-left = Own fields of the lead ({ $count }) are not copied to the deal, they stay in the lead
lead-products-left = Products of the lead ({ $count } rows) are not copied to the deal, only the amount is

# When something happened, within a sentence.
event-at-hour = at { $hour }
event-on-day = on { $day } at { $hour }
# The last card of a request closed by itself: what was to follow on the calls that ran does not begin any more.
left-undone = ⌛ Not done{ $after ->
    [none] {""}
   *[other] {" "}after “{ $after }”
  }: { $doing ->
    [none] the next step
   *[other] { $doing }
  }{ $values ->
    [none] {""}
   *[other] {" "}— { $values }
  }. Another card of the same request closed undecided, so I stopped. If you still need this, ask again
