# Graphs of definitions in the console.
console-chart-list = Steps as a list
console-chart-large = { $count } steps are too many for a picture: here they are as a list.
console-chart-more = Show more, left: { $count }
