# The questions of the command `sdelka scenario new`, and the texts of the file that it writes.
scenario-new-name = What is the scenario called?
scenario-new-description = What is it for? (in a sentence, may be empty)
scenario-new-question = What is asked? (question { $number }; an empty line ends the list)
scenario-new-doing = What is done with the answers? ({ $known })
scenario-new-say = say them back
scenario-new-deal = create a deal
scenario-new-lead = create a lead
scenario-new-hello = Hello! This is “{ $name }”.
scenario-new-summary = This is noted:
scenario-new-done = Done, thank you!
scenario-new-written = The file { $file } is ready. Check it: sdelka scenario validate { $file }. Try it: sdelka scenario run { $file }
# Ways out of a step in the diagram
scenario-way-if = yes
scenario-way-else = no
scenario-way-default = another answer
scenario-way-invalid = not understood
scenario-way-timeout = no answer
scenario-way-refused = refused
