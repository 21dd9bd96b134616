# What doors call the engine. A message ID--NAME is said in place of ID where the engine, kind or command NAME is meant.
console-definition-kind--scenario = Scenario
console-definition-kinds--scenario = Scenarios
console-runs-engine--scenario = Scenario
run-offer-unknown--scenario = There is no such scenario here. /run lists all that can be started.
run-definition-gone--run = There is no “{ $definition }” here: it may have been renamed or deleted. /run shows which there are.
finding-reference-draft--scenario = The scenario “{ $name }” is still a draft: it has to be published.
finding-reference-off--scenario = The scenario “{ $name }” is switched off: switch it on, or choose another.
kind-of--scenario = scenario
