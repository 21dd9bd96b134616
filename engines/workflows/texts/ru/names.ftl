# Как движок называют двери. Сообщение ID--ИМЯ говорится вместо ID, когда речь о движке, виде или команде ИМЯ.
console-definition-kind--workflow = Процесс
console-definition-kinds--workflow = Процессы
console-runs-engine--workflow = Процесс
finding-reference-draft--workflow = «{ $name }» (процесс) — ещё черновик: его нужно опубликовать.
finding-reference-off--workflow = «{ $name }» (процесс): выключено. Включите или выберите другое.
kind-of--workflow = процесса
run-offers--workflow = Какой процесс запустить?
run-offers-none--workflow = Запускать пока нечего: ни один процесс не опубликован.
run-definition-gone--workflow = «{ $definition }» здесь нет: возможно, переименовали или удалили. Какие процессы есть, покажет /workflow.
scenario-child-failed--workflow = Не выполнен процесс «{ $child }», поэтому дальше ничего не выполняется.
run-offer-unknown--workflow = Такого процесса здесь нет. Все, что можно запустить, — по команде /workflow.
console-definition-kind--tuum = Часть процесса
console-definition-kinds--tuum = Части процессов
finding-reference-draft--tuum = «{ $name }» (часть процесса) — ещё черновик: его нужно опубликовать.
finding-reference-off--tuum = «{ $name }» (часть процесса): выключено. Включите или выберите другое.
