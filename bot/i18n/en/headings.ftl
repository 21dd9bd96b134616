# Heading of a card: what to do, and to what
verb-add-deal = Create the deal
verb-update-deal = Change the deal
verb-delete-deal = Delete the deal
verb-set-deal = Replace the parts of the deal
verb-get-deal = Open the deal
verb-list-deal = Find deals
verb-add-lead = Create the lead
verb-update-lead = Change the lead
verb-delete-lead = Delete the lead
verb-get-lead = Open the lead
verb-list-lead = Find leads
verb-add-contact = Create the contact
verb-update-contact = Change the contact
verb-delete-contact = Delete the contact
verb-get-contact = Open the contact
verb-list-contact = Find contacts
verb-add-company = Create the company
verb-update-company = Change the company
verb-delete-company = Delete the company
verb-get-company = Open the company
verb-list-company = Find companies
verb-add-item = Create the item
verb-update-item = Change the item
verb-delete-item = Delete the item
verb-get-item = Open the item
verb-list-item = Find items
verb-add-smartinvoice = Create the invoice
verb-update-smartinvoice = Change the invoice
verb-delete-smartinvoice = Delete the invoice
verb-get-smartinvoice = Open the invoice
verb-list-smartinvoice = Find invoices
verb-add-quote = Create the quote
verb-update-quote = Change the quote
verb-delete-quote = Delete the quote
verb-get-quote = Open the quote
verb-list-quote = Find quotes
verb-add-task = Set the task
verb-update-task = Change the task
verb-delete-task = Delete the task
verb-get-task = Open the task
verb-list-task = Find tasks
verb-start-task = Start the task
verb-pause-task = Pause the task
verb-defer-task = Defer the task
verb-complete-task = Complete the task
verb-renew-task = Resume the task
verb-approve-task = Accept the task
verb-disapprove-task = Send the task back
verb-attach-task = Attach a file to the task
verb-add-activity = Plan an activity on the record
verb-add-meeting = Plan a meeting on the record
verb-add-phonecall = Log a call on the record
verb-add-plannedcall = Plan a call on the record
verb-add-email = Send an e-mail from the record
verb-add-emailrecord = Add an e-mail to the record
verb-update-activity = Change the activity
verb-delete-activity = Delete the activity
verb-get-activity = Open the activity
verb-list-activity = Find activities
verb-add-comment = Add a comment to the record
verb-update-comment = Change the comment
verb-delete-comment = Delete the comment
verb-list-comment = Read comments
verb-add-checklistitem = Add the checklist item
verb-update-checklistitem = Change the checklist item
verb-complete-checklistitem = Tick the checklist item
verb-delete-checklistitem = Remove the checklist item
verb-add-productrow = Add the product
verb-update-productrow = Change the product
verb-delete-productrow = Remove the product
verb-set-productrow = Replace the products
verb-add-event = Create the calendar event
verb-update-event = Change the calendar event
verb-delete-event = Delete the calendar event
verb-bind-binding = Subscribe to events of the portal
verb-unbind-binding = Unsubscribe from events of the portal
verb-add-message = Send the message
verb-notify-message = Send the notification
verb-update-todo = Change to-do
verb-add-todo = Create to-do
verb-delete-todo = Delete to-do
verb-get-todo = Look at to-do
verb-list-todo = Look at to-dos
verb-get-comment = Look at comment
verb-get-productrow = Look at product rows
verb-list-productrow = Look at product rows
verb-update-checklist = Change checklist item
verb-add-checklist = Add checklist item
verb-delete-checklist = Delete checklist item
verb-get-checklist = Look at checklist item
verb-list-checklist = Look at checklist
verb-update-user = Change employee
verb-add-user = Create employee
verb-delete-user = Delete employee
verb-get-user = Look at employee
verb-list-user = Look at employees
verb-get-event = Look at event subscription
verb-list-event = Look at event subscriptions
verb-update-message = Change message
verb-delete-message = Delete message
verb-get-message = Look at message
verb-list-message = Look at messages
verb-update-notification = Change notification
verb-add-notification = Create notification
verb-delete-notification = Delete notification
verb-get-notification = Look at notification
verb-list-notification = Look at notifications
verb-update-stage = Change stage
verb-add-stage = Create stage
verb-delete-stage = Delete stage
verb-get-stage = Look at stage
verb-list-stage = Look at stages
verb-update-category = Change funnel
verb-add-category = Create funnel
verb-delete-category = Delete funnel
verb-get-category = Look at funnel
verb-list-category = Look at funnels

## The heading of a card with several commands
batch-add = { $kind ->
    [comment] Add
    [productrow] Add
    [checklistitem] Add
    [activity] Plan
   *[other] Create
  } { $what }
batch-update = Change { $what }
batch-delete = Delete { $what }
count-deal = { $count } { $count ->
    [one] deal
   *[other] deals
  }
count-lead = { $count } { $count ->
    [one] lead
   *[other] leads
  }
count-contact = { $count } { $count ->
    [one] contact
   *[other] contacts
  }
count-company = { $count } { $count ->
    [one] company
   *[other] companies
  }
count-item = { $count } { $count ->
    [one] item
   *[other] items
  }
count-smartinvoice = { $count } { $count ->
    [one] invoice
   *[other] invoices
  }
count-quote = { $count } { $count ->
    [one] quote
   *[other] quotes
  }
count-task = { $count } { $count ->
    [one] task
   *[other] tasks
  }
count-activity = { $count } { $count ->
    [one] activity
   *[other] activities
  }
count-todo = { $count } { $count ->
    [one] activity
   *[other] activities
  }
count-comment = { $count } { $count ->
    [one] comment
   *[other] comments
  }
count-productrow = { $count } { $count ->
    [one] product
   *[other] products
  }
count-checklistitem = { $count } { $count ->
    [one] checklist item
   *[other] checklist items
  }
count-event = { $count } { $count ->
    [one] calendar event
   *[other] calendar events
  }
count-stage = { $count } { $count ->
    [one] stage
   *[other] stages
  }
count-category = { $count } { $count ->
    [one] funnel
   *[other] funnels
  }
count-user = { $count } { $count ->
    [one] employee
   *[other] employees
  }
verb-get-document = Read an entry of the database
verb-list-document = Find entries in the database
