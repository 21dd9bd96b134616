# Как движок называют двери. Сообщение ID--ИМЯ говорится вместо ID, когда речь о движке, виде или команде ИМЯ.
console-definition-kind--scenario = Сценарий
console-definition-kinds--scenario = Сценарии
console-runs-engine--scenario = Сценарий
finding-reference-draft--scenario = «{ $name }» (сценарий) — ещё черновик: его нужно опубликовать.
finding-reference-off--scenario = «{ $name }» (сценарий): выключено. Включите или выберите другое.
kind-of--scenario = сценария
run-offer-unknown--scenario = Такого сценария здесь нет. Все, что можно запустить, — по команде /run.
run-definition-gone--run = «{ $definition }» здесь нет: возможно, переименовали или удалили. Какие есть, покажет /run.
