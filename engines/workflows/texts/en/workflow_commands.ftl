# The commands sdelka workflow: what they tell authors in the terminal beside flow_commands.ftl.
workflow-cli-order = { $count ->
    [one] { $count } tuum
   *[other] { $count } tuums
} on { $levels ->
    [one] { $levels } level
   *[other] { $levels } levels
}; those of one level run side by side.
workflow-cli-column = { $column ->
    [level] level
    [tuum] tuum
    [after] waits for
    [takes] takes
   *[other] publishes
}
workflow-cli-proposed = { $count ->
    [one] One change is
   *[other] { $count } changes are
} proposed, as a plan; nothing was sent:
workflow-cli-finished = Finished: { $names }.
workflow-cli-record = The number of the { $kind } on which it works?
workflow-cli-block = { $what ->
    [block] block
    [status] status
    [workflow] workflow
    [person] person
    [begun] begun
    [ended] ended
    [changed] what changed
    [record] record
    [run] run
    [parent] result before it
    [field] field
    [before] before
    [now] changed to
    [proposed] proposed
    [after] after
    [chosen] chosen
    [operation] change
    [result] result
    [why] why
    [is] is
   *[other] what
}
workflow-cli-block-status = { $status ->
    [Idle] ready
    [Loading] at work
    [Conflict] waits for a choice
    [Error] failed
    [dismissed] put aside
   *[over] its run ended without a result
}
workflow-cli-block-erased = erased
workflow-cli-block-erased-note = Its texts and values were erased with the data of a person.
workflow-cli-block-more = { $count } more
workflow-cli-block-section = { $name ->
    [fields] Fields of the record
    [conflicts] What was changed while the workflow worked
   *[operations] What became of the changes
}
workflow-cli-block-chosen = { $side ->
    [person] as it was changed
    [process] as proposed
   *[none] not chosen yet
}
workflow-cli-block-result = { $status ->
    [succeeded] done
    [already] was so already
    [planned] only a plan
    [refused] refused
    [failed] failed
    [not_run] not run
   *[unknown] not known
}
