# Sentences of checklists.
menu-checklist = Go through a checklist
checklist-new-title = A new checklist
checklist-new-point = What is to be done?
checklist-done = Done
checklist-left = Not yet
checklist-point = { $number }. { $text }
checklist-ended = { $count ->
    [0] “{ $name }” is done.
   *[other] “{ $name }”: { $count } left.
 }
console-definition-kind--checklist = Checklist
console-definition-kinds--checklist = Checklists
console-runs-engine--checklist = Checklist
run-offers--checklist = Which checklist shall begin?
kind-of--checklist = checklist
