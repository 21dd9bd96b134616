## Heads of the tables of the command line; a field that is not named here keeps its name in the API.
cli-head = { $name }
cli-yes = yes
cli-no = no
cli-none = There is nothing.
