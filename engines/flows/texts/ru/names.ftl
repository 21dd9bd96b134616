# Как движок называют двери. Сообщение ID--ИМЯ говорится вместо ID, когда речь о движке, виде или команде ИМЯ.
console-definition-kind--flow = Поток
console-definition-kinds--flow = Потоки
console-runs-engine--flow = Поток
finding-reference-draft--flow = «{ $name }» (поток) — ещё черновик: его нужно опубликовать.
finding-reference-off--flow = «{ $name }» (поток): выключено. Включите или выберите другое.
kind-of--flow = потока
run-offers--flow = Какой поток запустить?
run-offers-none--flow = Запускать пока нечего: ни один поток не опубликован.
run-definition-gone--flow = «{ $definition }» здесь нет: возможно, переименовали или удалили. Какие потоки есть, покажет /flow.
scenario-child-failed--flow = Не выполнен поток агентов «{ $child }», поэтому дальше ничего не выполняется.
run-offer-unknown--flow = Такого потока агентов здесь нет. Все, что можно запустить, — по команде /flow.
console-definition-kind--agent = Агент
console-definition-kinds--agent = Агенты
finding-reference-draft--agent = «{ $name }» (агент) — ещё черновик: его нужно опубликовать.
finding-reference-off--agent = «{ $name }» (агент): выключено. Включите или выберите другое.
