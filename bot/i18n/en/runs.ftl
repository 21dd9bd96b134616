# Scenarios: what is under way, what it waits for, how it ended. In the words of a sales manager.
menu-run = Start a scenario
menu-flow = Start a flow of agents
menu-runs = Which scenarios are under way
menu-cancel = Cancel a scenario
run-option = { $label }
run-retry = ↻ Try again
run-resume = ▶ Continue
run-retry-one = ↻ Try “{ $definition }” again{ $id ->
    [none] {""}
   *[other] {" "}· { $id }
}
run-cancel-one = ✖ Cancel “{ $definition }”{ $id ->
    [none] {""}
   *[other] {" "}· { $id }
}
runs-go-on = { $count ->
    [one] The scenario that you started here goes on.
   *[other] The scenarios that you started here go on.
} See them with /runs, cancel with /cancel.
runs-listed = { $count ->
    [0] No scenario is under way.
   *[other] Scenarios:
}
run-line = • “{ $definition }”{ $id ->
    [none] {""}
   *[other] {" "}· { $id }
} — { $what }. Started { $on }
run-does-work = at work
run-does-pause = paused
run-does-fail = not completed
run-waits-effect = waits for a decision on its card
run-waits-input = waits for an answer
run-waits-input-until = waits for an answer until { $at }
run-waits-timer = goes on { $on }
run-waits-run = waits for another scenario
run-ended = { $status ->
    [cancelled] The scenario “{ $definition }” is cancelled.
   *[failed] ⚠️ The scenario “{ $definition }” was not completed.
}
run-changes-left = ⚠️ { $made ->
    [0] The changes were not made
   *[other] Changes made: { $made }, not made: { $left }
}{ $why ->
    [denied] : denied.
    [expired] : nobody decided in time.
   *[other] .
}
run-ended-outside = Sorry, this could not be completed. Begin again, or write to us directly.
run-not-for-customers = The step answers from all that the company knows, so it is not carried out for customers.
run-was-cancelled = { $who } cancelled it. What was done before stays, and the cards that waited are withdrawn.
run-not-begun = The record of the scenario's start was not found. Start it again; if that does not help, tell the administrator.
run-owner-gone = The person who started the scenario has no access any more, so nothing further is done.
run-engine-gone = Scenarios of this kind are not run here any more. If it is still needed, tell the administrator.
run-engine-away = { $definition ->
    [none] This cannot go on now: the program that runs it was taken out.
   *[other] The scenario “{ $definition }” waits: the program that runs it was taken out.
} Nothing is lost: once it is back, everything goes on by itself.
run-definition-gone = There is no scenario “{ $definition }”: it may have been renamed or deleted.
run-definition-off = The scenario “{ $definition }” is switched off, so it cannot be started now. Ask a head of sales or the administrator.
run-definition-unpublished = The scenario “{ $definition }” is not published yet. Ask the person who makes it.
run-definition-changed = Version { $version } of “{ $definition }” is not the one that is used any more, so nothing was started. Please start it again.
run-definition-damaged = The stored scenario “{ $definition }” is damaged, so it stops here and nothing more is sent. Please start it again; if that does not help, tell the administrator.
run-not-allowed = You may not start the scenario “{ $definition }”. Ask your head of sales.
run-not-allowed-now = The person who started the scenario “{ $definition }” may not run such scenarios any more, so it stops here. Please ask a lead.
run-version-gone = The bot was updated and cannot go on with this scenario. Nothing further was sent; start the scenario anew.
run-too-long = The scenario has more than { $most } steps, which is too many. Tell the person who made it.
run-too-deep = Scenarios start one another more than { $most } times in a row, which looks like a circle. Tell the person who made them.
run-large-value = The step “{ $node }” gave too much data. Tell the person who made the scenario.
run-bad-value = The step “{ $node }” gave something that cannot be stored. Tell the person who made the scenario.
run-stuck = The scenario waits for nothing and does not go on. Tell the person who made it.
run-value-gone = The scenario used the words of a person whose data was erased. Without them it would take another way, so nothing more is done.
run-value-lost = What step “{ $node }” gave is lost or damaged, and the scenario cannot go on without it. Please start it again and tell the administrator.
run-turn-asked = I could not tell which record is meant: “{ $text }”. Name it more exactly and start the scenario again.
run-step-refused = The step “{ $step }” was declined or is not allowed.
run-step-failed = The scenario inside was not completed, step “{ $step }”.
run-step-unknown = It is not clear what to do at the step “{ $step }”. Tell the person who made the scenario.
run-paused = The scenario is paused: it takes the answer when it is continued
run-is-paused = ⏸ The scenario “{ $definition }” is paused.
run-restored = ⏸ The bot was restored from a backup made { $at }. The scenario “{ $definition }” may have gone on since then, so it is paused. Please look in Bitrix24 what was done already, then resume or cancel it.
run-not-yours = The person who started this scenario controls it, or a head of sales
run-order-late = { $status ->
    [done] The scenario is already done
    [failed] The scenario has already stopped
    [cancelled] The scenario is already cancelled
    [paused] The scenario is paused
    [waiting] The scenario is under way and waits
   *[running] The scenario is already under way
}
run-offers = Which scenario shall be started?
run-offers-none = There is nothing to start yet: no scenario is published.
scenario-offer = ▶ Start “{ $title }”
run-offer-unknown = There is no such scenario here.
run-offer-line = • { $title }{ $summary ->
    [none] {""}
   *[other] {" "}— { $summary }
}
run-offer = ▶ { $title }
run-cancel-which = Which scenario shall be cancelled?
run-cancel-none = { $wanted ->
    [none] There is nothing to cancel: none of your scenarios is under way here.
   *[other] You have no scenario “{ $wanted }”. /runs shows what is under way.
}
run-question-late = ⌛ There was no answer, the scenario went on.
run-answer-photo = ✓ Photo received
run-answer-document = ✓ File received: { $name }
run-answer-contact = ✓ Contact received: { $name }
run-file-too-large = The file is larger than { $limit } MB, which is more than I can take. Send a smaller one; the scenario waits.
run-file-unread = Telegram did not give the file. Send it again; the scenario waits.
run-sent-file = 📎 { $name }
run-file-size = The file “{ $name }” is empty or larger than { $most } MB and cannot be sent. Tell whoever wrote the scenario.
run-file-gone = The file that the scenario needs is gone. Start the scenario anew and send the file again.
run-started = Starting the scenario “{ $definition }”, its number is { $run }.
run-passed = Passed on to the scenario.
run-chosen = Your answer went to “{ $taken }”, which asked last. “{ $waiting }” waits for an answer, too{ $count ->
    [one] {""}
   *[other] {" "}– { $count } scenarios in all
}.
run-album = One file of the album was taken, the scenario does not need the others. If it was the wrong one, send the right one by itself when the scenario asks.
run-buttons-elsewhere = This button works in the chat where the scenario runs
run-plan-more = …and { $count ->
    [one] { $count } more action
   *[other] { $count } more actions
 } of the same scenario.
run-reminder = ⏰ The scenario “{ $definition }” has waited for you for more than a day:
run-reminder-cards = The cards are under /pending.
definition-published = 📄 { $door ->
    [cli] The account { $who } in a terminal
    [http] The program { $who }
   *[other] { $who }
} published version { NUMBER($version, useGrouping: 0) } of the { $kind_of } “{ $definition }”. New starts follow it, those under way go on as they began.{ $given ->
    [yes] {" "}What has changed: { $note }
   *[no] {""}
}
# A kind of definitions behind "of the".
kind-of = scenario
