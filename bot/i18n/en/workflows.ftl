# Workflows: what a person reads when one did not get to its end.
workflow-unreadable = The description of this workflow cannot be read. Its author has to mend it.
workflow-uncompiled = The description of this workflow has a mistake: { $why }. Its author has to mend it.
workflow-tuum-gone = A part of this workflow is gone or switched off. Please tell the workflow’s author.
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
workflow-record-unread = The record { $name } cannot be read, so nothing was changed.
workflow-outcome-unknown = It is not known whether all changes were made, so the workflow was stopped. Check the records in Bitrix24 before you retry.
menu-workflow = Workflows: from data to finished changes
