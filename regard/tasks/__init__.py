"""One file per thing the system can learn. A new family is one new file and one line here."""

from regard.tasks.answer import ANSWER
from regard.tasks.fill import FILL
from regard.tasks.task import Task
from regard.tasks.translate import TRANSLATE
from regard.tasks.write import WRITE

TASKS: dict[str, Task] = {task.name: task for task in (TRANSLATE, WRITE, FILL, ANSWER)}
