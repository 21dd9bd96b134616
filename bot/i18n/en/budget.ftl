# How much of the model a person may use in a month.
budget-over = Your AI limit for this month is used up, so I cannot work on requests in words now. Commands (/today, /pending, /history), the buttons of cards and reminders work. The limit begins anew on the 1st; if you need it earlier, ask an administrator
budget-warn = ⚠️ { $percent } % of your AI limit for this month is used. It begins anew on the 1st
budget-used = AI limit for this month: { $percent } % used
