# Graphs of definitions in the console.
console-chart-list = Шаги списком
console-chart-large = Шагов { $count }: для рисунка слишком много, вот они списком.
console-chart-more = Показать ещё, осталось: { $count }
