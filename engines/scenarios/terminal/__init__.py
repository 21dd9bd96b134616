"""The command group `sdelka scenario`: what authors of scenarios use before they publish: check, draw, try, test, record, begin."""
