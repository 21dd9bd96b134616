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
