# What changed in the portal without the person's doing. Fluent drops blanks at the ends of a value, so the code adds them.
news-deal = Deal
news-lead = Lead
news-task = Task
news-item = CRM record
news-added-deal = New deal
news-added-lead = New lead
news-added-task = New task
news-added-item = New CRM record
news-deleted-deal = Deal deleted:
news-deleted-lead = Lead deleted:
news-deleted-task = Task deleted:
news-deleted-item = CRM record deleted:
news-changed-by = changed by { $who }
news-added-by = created by { $who }
news-deleted-by = deleted by { $who }
news-via = { $name } through Sdelka
news-several = { $count ->
    [one] { $count } record changed
   *[other] { $count } records changed
}
news-more = and { $count } more
