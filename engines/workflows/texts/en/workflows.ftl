# Workflows: what a person reads when one did not get to its end.
workflow-unreadable = The description of this workflow cannot be read. Its author has to mend it.
workflow-uncompiled = The description of this workflow has a mistake: { $why }. Its author has to mend it.
workflow-tuum-gone = A part of this workflow is gone or switched off. Please tell the workflow’s author.
workflow-answer-unfit = The part “{ $tuum }” failed: twice the model's answer was not the data that is needed{ $finished ->
    [0] {""}
   *[other] {"."} Parts that are done: { $finished }; they will not be done again
}. Nothing was changed in Bitrix24.
workflow-tuum-failed = The part “{ $tuum }” failed{ $finished ->
    [0] {""}
   *[other] {"."} Parts that are done: { $finished }; they will not be done again
}. Nothing was changed in Bitrix24.
workflow-stopped = { $why }
workflow-result-unfit = The workflow got to its end, but the changes that it proposed are written wrongly. Nothing was changed in Bitrix24. Please tell the workflow’s author.
workflow-operations-many = The workflow proposed too many changes at once: at most { $most } can be made together. Nothing was changed in Bitrix24.
workflow-operations-twice = The workflow creates the record “{ $name }” twice, so nothing was changed. Please tell the workflow’s author.
workflow-operations-unwritable = A change that the workflow proposed cannot be sent to Bitrix24. Nothing was changed. Please tell the workflow’s author.
workflow-operations-uncomputed = The workflow wants to compute the field “{ $name }”, but that is no number. Nothing was changed.
workflow-operations-unmade = The changes were approved, but the program stopped before it made them. Nothing of this card was changed in Bitrix24; retry, and you will be asked once more.
workflow-card-unwritten = Card { $number } of { $cards } could not be made: while the earlier ones waited, the record was changed so that the new value cannot be computed, or it cannot be read any more. Nothing of this card was changed. Retry will try once more.
workflow-operations-moved = The record was changed while the card waited, so what was computed from it is wrong by now. Nothing of this card was changed; retry computes it anew and asks once more.
workflow-operations-away = Bitrix24 did not answer, so the changes of this card were not made. Retry a little later; nothing else is done again.
workflow-field-doubtful = It is not clear which field of the record the workflow changes: several fit “{ $name }”. Nothing was changed. Its author must write the name of the field exactly as in Bitrix24.
workflow-record-unread = The record { $name } cannot be read, so nothing was changed.
workflow-shadow-unread = In shadow mode no records of Bitrix24 are read, and this workflow cannot do without them, so it goes no further. Nothing was changed. It works as soon as the shadow mode is switched off.
workflow-outcome-unknown = It is not known whether all changes were made, so the workflow was stopped. Check the records in Bitrix24 before you retry.
workflow-record-which = { $kind ->
    [deal] Which deal is it about?
    [lead] Which lead is it about?
    [contact] Which contact is it about?
   *[company] Which company is it about?
} Write its number or name.
workflow-record-several = Several records fit “{ $name }”. Which one is it?
workflow-record-none = I found no “{ $name }” among the records that you may see. Write the number, or more of the name.
workflow-records-away = Bitrix24 does not answer now, so “{ $name }” could not be looked up. Write the number, or send the name again a little later.
workflow-record-many = Too many records fit “{ $name }”. Write the number, or more of the name.
workflow-record-unfit = It is not clear which record is meant: its number is needed or, in a chat, its name. Please start the workflow again.
workflow-record-elsewhere = This is no { $kind ->
    [deal] deal
    [lead] lead
    [contact] contact
   *[company] company
} of this Bitrix24. The number is needed, or the link to the page of a record here; in a chat the name will do, too.
workflow-record-hidden = { $kind ->
    [deal] The deal
    [lead] The lead
    [contact] The contact
   *[company] The company
} No. { $number } cannot be read: there is none, or you may not see it. Nothing was changed. Check the number and start the workflow again.
workflow-record-away = { $kind ->
    [deal] The deal
    [lead] The lead
    [contact] The contact
   *[company] The company
} No. { $number } cannot be read now: Bitrix24 does not answer. Nothing was changed. Press “Retry” a little later.
workflow-record-locked = For the record “{ $title }” somebody is deciding whose change stays, or a workflow on it did not come to its end. So nothing was changed. Answer the question of that workflow, press “Retry” there or start it on this record again, then try again.
workflow-conflict = While the workflow was at work, the field “{ $field }” of “{ $title }” was changed from { $before } to { $person }. The workflow proposes: { $process }. Which one shall it be?
workflow-conflicts-many = While the workflow was at work, { $count } fields that it changes were changed in the record. These are too many to ask about; nothing was changed. Please start the workflow again.
workflow-conflicts-again = “{ $title }” was changed again and again while the workflow waited for an answer. Nothing more was changed for it. Please start it again when nobody works on the record.
workflow-conflicts-forgotten = The program was updated while the workflow waited for an answer about “{ $title }”, and it is not known any more to which fields the answers belong. Press “Retry”: it asks anew.
workflow-block-busy = The workflow “{ $workflow }” is already at work on “{ $title }”. Wait for its end or cancel it, then try again.
workflow-block-conflict = On “{ $title }” the workflow “{ $workflow }” waits for an answer whose changes stay. Answer its question or cancel it, then try again.
workflow-block-dismissed = Another workflow has worked on “{ $title }” since, so this one cannot go on. Please start it again.
workflow-block-lost = Another workflow is at work on “{ $title }”, so this one was stopped. Nothing more was changed for it.
workflow-ended-quietly = The workflow “{ $title }” has come to its end. { $proposed ->
    [some] All that it proposes stands in Bitrix24 already, so nothing was changed.
   *[none] It gave no text and proposed no changes.
}
menu-workflow = Workflows: from data to finished changes
workflow-box-start = Start
workflow-box-result = Result
workflow-box-stored = A stored part
workflow-box-unnamed = A part without a name
workflow-way-answer = the answer
workflow-way-result = the result
workflow-add-model = Ask the model
workflow-add-model-hint = A prompt with variables; the answer goes on
workflow-add-query = Read from Bitrix24 and retell
workflow-add-query-hint = Records of the CRM, and what the model says of them
workflow-add-script = Run a script
workflow-add-script-hint = Compute or put a text together in Python
workflow-add-operation = Propose a change
workflow-add-operation-hint = A new task or another value in a record; a person decides on the card
workflow-add-stored = Insert a stored part
workflow-add-stored-hint = A part that is stored on its own
