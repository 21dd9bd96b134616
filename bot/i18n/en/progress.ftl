# What is shown while a turn goes on: one line a step, in words of code, never of the model.
step-running = ⏳ { $words }
step-done = ✓ { $words }
step-waiting = ✋ { $words } — waits for your decision
step-refused = ✖ { $words } — did not work
step-unknown = ❓ { $words } — outcome unknown
step-planned = 📝 { $words } — only planned
step-earlier = { $count ->
    [one] ✓ { $count } more step before
   *[other] ✓ { $count } more steps before
}
answer-unshown = The answer could not be shown. What was done stands on the cards and in the portal; you can ask again. Code for the administrator: { $id }.
button-stop = ⏹ Stop
working = Working on it…

doing-get = opening
doing-list = looking for
doing-add = creating
doing-update = changing
doing-delete = deleting
doing-complete = completing
doing-batch = changing several records at once
doing-other = running
done-get = opened
done-list = found
done-add = created
done-update = changed
done-delete = deleted
done-complete = completed
done-batch = changed several records at once
done-other = done with

one-deal = the deal
one-lead = the lead
one-contact = the contact
one-company = the company
one-task = the task
one-activity = the activity
one-comment = the comment
one-item = the item
one-productrow = the product
one-checklistitem = the checklist item
one-event = the event
one-user = the employee
one-other = the record
many-deal = deals
many-lead = leads
many-contact = contacts
many-company = companies
many-task = tasks
many-activity = activities
many-comment = comments
many-item = items
many-productrow = products
many-checklistitem = checklist items
many-event = events
many-user = employees
many-other = records

button-list-file = 📎 Excel{ $of ->
    [1] {""}
   *[other] {" "}{ $number }
  }
list-gone = I do not hold this list in memory any more. Show it again and press Excel.
list-of-another = Somebody else asked for this list. Ask for your own: it will have your records.
list-unread = The list cannot be read just now, or is empty by now. Try again later.
file-list = List
file-text = Answer
file-record = Record
file-has-all = { $rows ->
    [one] The whole list: { $rows } row
   *[other] The whole list: { $rows } rows
}
file-has-part = { $rows } of { $total } are in the file: a narrower request finds the others
text-in-file = The answer is long; all of it is in the file below.
