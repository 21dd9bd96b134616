# The names of the fields of scenarios, agents and workflows in the form of the console; the sentences under them are those of the schemas.
console-form-own-name = { $place ->
    [scenario-name] Name
   *[other] { "" }
  }
console-form-name = { $name ->
    [params] Parameters
    [id] Key
    [if] If so
    [else] If not
   *[other] { $plain }
  }
console-form-hint = { $place ->
    [scenario-version] Your own number, such as 1.0.
   *[other] { $said }
  }
console-form-value = { $place ->
    [type-action] action: what action_type names
   *[other] { $value }
  }
