welcome = Hello, { $name }! I help with Bitrix24: write in plain words what should happen. Important changes I show first and ask. { $mode ->
    [shadow] As long as this is shadow mode, I send nothing to Bitrix24 and read no deals: I show what I would do.
    [canary] This is careful mode: I read and create, and change nothing that exists.
   *[full] This is full mode.
}
help = Write in plain words: “show my deals”, “raise the sum of deal Romashka to 150,000”, “create a task for me tomorrow”.
    You can forward a customer's message and write what to do with it, or say it aloud.
    
    What you order me to add (a note, a task, a new record, an empty field) I add at once; what replaces, deletes or goes out I show first.
    
    /today — today's work
    /pending — what waits for a decision
    /history 481 — who changed what
    /ask question — ask the company's documents
    /reminders — reminders
    /runs — scenarios under way
    /cancel — leave a scenario
    /stop — stop
    /new — start over
    /mode — mode
    /status — state{ $private ->
        [yes]
            {""}
            /settings — digests, alerts, language
            /language — language
       *[no] {""}
    }{ $role ->
        [admin]
            {""}
            /freeze — stop all changes in Bitrix24
            /unfreeze — allow changes again
       *[other] {""}
    }
rules-changed = New: I add without asking only what you order, and show first what replaces something (a title, a comment, the state of a task). More: /help
cleared = Starting over.{ $waiting ->
    [0] {""}
    [one] {" "}One confirmation still waits: /pending
   *[other] {" "}{ $waiting } confirmations still wait: /pending
}
stopping = Stopping. If a call is already on its way to Bitrix24, you will see how it ended.
stopped = Stopped.
nothing-to-stop = Nothing is running.
pending = { $count ->
    [0] Nothing waits for a decision.
    [one] { $count } request waits for a decision:
   *[other] { $count } requests wait for a decision:
}
mode = Mode: { $mode ->
    [shadow] shadow — I send nothing to Bitrix24 and read no deals: I show what I would do
    [canary] careful — I read and create, and change nothing that exists
   *[full] full — important changes with confirmation
}.
status = Mode: { $mode ->
    [shadow] shadow
    [canary] careful
   *[full] full
}. Waiting for a decision: { $waiting }. Unknown outcome: { $unknown }. Now { $running ->
    [yes] working on your request.
   *[no] free.
}
today-overdue = Overdue tasks
today-tasks = Tasks for today
today-closing = Closing within 7 days
unknown-command = No such command. There are: { $commands }
degraded = Automatic actions are temporarily unavailable. Nothing was done. Please try again later; if that does not help, tell your administrator.
degraded-partly = Automatic actions are temporarily unavailable, and the request was only done in part. Please ask for the rest later; if that does not help, tell your administrator.
degraded-after-card = The card is decided, but I cannot go on right now: the assistant is temporarily unavailable. If something is left to do, write “go on” later.
done-before = Done before that: { $calls }. No need to ask for it again.
done-already = This is done already, no need to ask for it again.
not-made = Not done: { $calls }. { $why }
not-begun = The request broke off before I got to it
no-reason-known = No reason was recorded
and-more = { $count ->
    [one] and { $count } more change
   *[other] and { $count } more changes
}
failed = Something went wrong, the request was not handled. Give your administrator the code { $id }.
restored-not-resumed = The card is decided. The bot was restored from a backup, so I do not go on with this request by myself: the rest may have been done already. Please look in Bitrix24 and, if not, write what is left.
restored-not-worked = The bot was restored from a backup. I do not carry this request out by myself: it may have been done already. Please look in Bitrix24 and write again if not. What waits for a decision is under /pending.
computed-changed = The record was changed while the card waited, so what was computed from it is wrong by now. Nothing was changed: let the workflow compute it anew.
came-back-done = This was done already, before the bot was restored from a backup. I do not send it a second time.
came-back-unclear = The bot was restored from a backup, and nothing shows whether this was done already. Nothing was sent: please look, and ask again if not.
came-back-asks = The bot was restored from a backup: this may have been done already. Please look before you confirm.
came-back-others = The bot was restored from a backup, and after that backup it had created records of this kind: { $records }{ $more ->
    [0] {""}
   *[other] {" "}and { $more } more
}. This may have been done already: please look before you confirm.
store-trouble = I cannot write the journal, so I send no new calls to Bitrix24. Your request is kept: I will go on with it once writing works.
turn-engine-away = I cannot do this now: the part of the program that it needs is not installed. Please tell the administrator.
choice-outdated = That choice is no longer valid. Please write your request again.
iteration-limit = I stopped: { $limit } steps were not enough. Please be more specific.
refused-twice = The same was refused a second time, so I do not try again. Tell me what to do instead.
stranger = You are not on the list. Your ID is { $id }: give it to your administrator.
stranger-seen = You are not on the list yet. Your administrator sees your request; as soon as you are added, I will write. Your ID is { $id }, in case they ask.
too-long = The message is too long ({ $length } characters). Please send no more than { $limit }.
only-text = { $kind ->
    [photo] I cannot see what is in a photo.
    [video] I cannot watch videos.
    [document] I cannot read files.
    [audio] I cannot listen to sound files.
    [sticker] I cannot understand stickers.
    [place] I cannot read places on a map.
   *[other] I cannot read such a message.
} Please write in words what to do. I read text, captions, forwarded messages and contact cards.
voice-works = I understand voice messages too.
nothing-changed = Nothing was changed this time: say what to do, and a card or a line about it will follow
attached-not-read = { $kind ->
    [photo] I cannot see what is in the photo: I have read the caption only.
    [video] I have not watched the video: I have read the caption only.
    [document] I cannot see what is in the file: I have read the caption only.
    [audio] I have not listened to the sound file: I have read the caption only.
    [answered] I cannot read the message that you replied to: please write in words what matters in it.
   *[other] I cannot see the attachment: I have read the caption only.
}
which-card = Several requests wait: press the button under the right card.
only-button = This is confirmed only by the button under its card.
shadow-plan = Shadow mode: nothing was sent or changed. I would have done:
approval-too-old = This was approved, but the bot stood still and could not do it in time. Nothing was sent: ask again if it is still wanted.
shadow-now = This is shadow mode: nothing was sent.
planned-other = call { $method }
list-total = { $shown } of { $total } shown
list-page = { $first } to { $last } of { $total }
list-all = { $total } in all
list-first = The first { $total } of { $fitting }
list-total-sum = { $shown } of { $total } shown, { $sum } in all
list-all-sum = { $total } in all, worth { $sum }
list-first-sum = The first { $total } of { $fitting }, together { $sum }
list-not-shown = A list could not be shown.
list-group-unclear = I did not get what to count, and by what.
list-limit-unclear = I did not get how many rows to show.
help-unknown = There is no such action.
columns-unknown = Some columns are not shown: there are no such fields.
only-own = Only your own { $kinds } are shown.
only-own-sought = Only your own { $kinds } were looked through.
own-kinds = { $first }, { $rest }
own-kinds-last = { $first } and { $rest }
own-kind = { $entity ->
    [deal] deals
    [lead] leads
    [contact] contacts
    [company] companies
    [task] tasks
   *[other] records
}
list-empty = Nothing found.
counting = Counting: { $total ->
    [0] { $done }
   *[other] { $done } of { $total }
}…
sum-left-out = The sum is left out: the list is too long, or Bitrix24 did not hand it over in time. Narrow it down, for example by period or person.
example-deals = Show my deals
example-task = Create a task for me tomorrow: call the client
example-sum = What do I have today?
details-title = The exact call
details-none = That card is gone.
menu-start = Start
menu-help = Help and examples
menu-new = Start over
menu-stop = Stop
menu-pending = What waits for a decision
menu-mode = Mode
menu-status = State
menu-freeze = Stop all changes in Bitrix24
menu-unfreeze = Allow changes again
menu-today = Today's work
menu-ask = Ask the company's documents
which-deal = Which deal “{ $name }”?
which-lead = Which lead “{ $name }”?
which-contact = Which contact “{ $name }”?
which-company = Which company “{ $name }”?
which-task = Which task “{ $name }”?
which-user = Which employee “{ $name }”?
which-stage = Which stage “{ $name }”?
which-date = Which day is meant by “{ $words }”?
which-sum = Which sum is “{ $words }”?
name-means-all = “{ $name }” fits: { $labels }. All of them were looked at.
which-of-more = { $question } { $more } more { $more ->
    [one] fits
   *[other] fit
 }: if the right one is not here, please be more precise.
too-many-found = { $count } records fit “{ $name }”. Please be more precise.
not-found = I did not find “{ $name }” among the records you may see.
user-not-found = I did not find an employee “{ $name }”.
user-left = { $name } has left the company: nothing can be assigned to them, but their records can be found.
stage-not-found = There is no stage “{ $name }”. There are: { $known }.
category-not-found = There is no funnel “{ $name }”. There are: { $known }.
nearest-record = I did not find “{ $name }” among the records you may see. Perhaps it is:
nearest-user = I did not find an employee “{ $name }”. Perhaps it is:
nearest-stage = There is no stage “{ $name }”. Perhaps it is:
which-field = Which field “{ $name }”?
which-option = Which option “{ $name }”?
field-not-found = There is no field “{ $name }”. There are: { $known }.
option-not-found = There is no option “{ $name }”. There are: { $known }.
field-named-twice = The field { $name } was named twice with different values. Please say which one you mean.
nearest-field = There is no field “{ $name }”. Perhaps it is:
nearest-option = There is no option “{ $name }”. Perhaps it is:
nearest-category = There is no funnel “{ $name }”. Perhaps it is:
no-current = I did not get which record is meant. Please name it.
link-unclear = I did not get which record to link this to. Please name the deal, lead, contact or company.
list-send-unclear = I did not get which list goes to whom. Show the list and say who gets it.
list-send-none = I see no list that could be passed on. Please show it again.
list-send-long = The list has { $rows } rows, and one message holds { $most }. Take the file with the Excel button under the list and send it yourself, or make the list shorter.
no-next-page = I did not get which list should go on. Please say what to show.
list-is-whole = That was the whole list: { $total } in all.
no-list-shown = I did not get which row is meant: I have shown no list yet. Please name the record.
no-such-row = The last list has no row { $number }: it has { $count } rows.
row-no-record = Row { $number } of the last list is no record. Please name the record.
row-other-kind = Row { $number } of the last list is “{ $label }”, which does not fit here. Please name the record.
no-bitrix-user = Your Bitrix24 employee is not set. Please ask your administrator.
currency-not-here = Your Bitrix24 has no currency { $currency }. It has: { $known }.
field-no-currency = This field holds a plain number without a currency, and you named { currency-named }. Write the number alone.
date-in-filter = I did not get which time to look at: “{ $words }”.
date-past = That date is over: { $when }. Please name another.
ask = { $question }
chosen = ✓ { $label }
waiting-on-card = { $count ->
    [one] What is on the card below is not done yet
   *[other] What is on the cards below is not done yet
}
rest-after-card = { $count ->
    [one] The next step{ rest-named } follows when the card is decided
   *[other] The other steps, { $count }{ rest-named }, follow when the card is decided
}
rest-named = { $named ->
    [yes] {" "}({ $calls })
   *[no] {""}
  }
rest-not-begun = { $count ->
    [one] The plan stopped: { $count } further step was not begun{ rest-named }. To come back to it, write “go on”
   *[other] The plan stopped: { $count } further steps were not begun{ rest-named }. To come back to them, write “go on”
}
created-unnamed = This step was not begun: the number of the record that it belongs to is not known. Check the record and ask again
step-held = { $named ->
    [yes] Not created: “{ $title }”, because a step that needs this record cannot be done
   *[no] The record was not created, because a step that needs it cannot be done
}
change-alone = Other steps stand behind this one on its card, so it is not changed without them: ask for all of it again
created-none = This step was not begun: the record that it belongs to was not created
created-misplaced = It is unclear where the new record belongs: the step was left out
