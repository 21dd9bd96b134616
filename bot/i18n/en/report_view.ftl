# Words of pictures, captions and files of reports (bot/rendering/pictures, report_caption, report_file)
picture-more = and { $count } more
picture-more-columns = { $name ->
    [none] columns not in the picture: { $count }
   *[other] { $name }: { $count } more in the file
 }
picture-empty = No data for this period
picture-before = was { $before } · { $period }
picture-plan-line = plan { $plan }
picture-plan = plan { $plan }{ $elapsed ->
    [none] {""}
   *[other] {" "}· { $elapsed } of the time has passed
 }
picture-needed = needed a day
picture-tick = { $word ->
    [percent] { $number } %
    [thousand] { $number } K
    [million] { $number } M
    [billion] { $number } B
    [trillion] { $number } T
   *[other] { $number }
 }
report-total = Total
report-before = was { $before }
report-unfinished = (not over)
report-causes = What the change is made up of (no cause):
    { $causes }
report-earlier = before that, { $count } more (in the file)
report-between = { $count } more (in the file)
report-plan = Plan { $plan }: { $done } done, { $elapsed } of the time has passed, { $is_open ->
    [no] { $left } above the plan
   *[other] { $left } left
 }{ $needed ->
    [none] {""}
   *[other] {" "}({ $needed } a day needed)
 }
report-button-list = { $of ->
    [deals] 📋 Deals
    [leads] 📋 Leads
    [calls] 📋 Calls
    [activities] 📋 Activities
    [tasks] 📋 Tasks
    [companies] 📋 Companies
   *[other] 📋 Records
 }
report-button-picture = 🖼 As a picture
report-button-file = 📎 Excel
report-button-how = ❓ How it was counted
report-button-back = ◀ Back
report-sheet-how = How it was counted
report-file-change = { $name }: change, %
report-file-before = { $name }: before
report-file-money = { $name }, { $currency }
report-file-records = Records
report-file-definition = How it was counted
report-file-period = Period
report-file-compared = Compared with
report-file-filter = Filter
report-file-as-of = Time of the data
report-file-note = Note
report-file-plan = Plan
report-file-name = Report
