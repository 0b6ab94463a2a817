"""What a user writes wrongly: each line below a comment is refused by both checkers, with these words, and no other line is.

`test_checkers.py` runs them. mypy's words come first, pyright's after them.
"""

from sedano import ResultSet, Sedano, chain, chord, every, group
from sedano.task import Task

app = Sedano("typed")


@app.task
def add(a: int, b: int = 2) -> int:
    """Stand above a `def`."""
    return a + b


@app.task(queue="default")
async def fetch(url: str, *, fresh: bool = False) -> str:
    """Stand above an `async def`."""
    return url if fresh else ""


@app.task(bind=True)
def bound(self: Task[[int], str], x: int) -> str:
    """Take the task itself first."""
    return self.name * x


def published() -> None:
    """Publish wrongly."""
    # mypy says: Argument 1 to "delay" of "Task" has incompatible type "str"; expected "int"
    # pyright says: Argument of type "Literal['1']" cannot be assigned to parameter "a" of type "int"
    add.delay("1", 2)
    # mypy says: Too many arguments for "delay" of "Task"
    # pyright says: Expected 2 positional arguments
    add.delay(1, 2, 3)
    # mypy says: Unexpected keyword argument "c" for "delay" of "Task"
    # pyright says: Argument missing for parameter "a"
    add.delay(c=1)
    # mypy says: Argument 1 to "si" of "Task" has incompatible type "str"; expected "int"
    # pyright says: Argument of type "Literal['1']" cannot be assigned to parameter "a" of type "int"
    add.si("1")
    # mypy says: Argument 1 to "delay" of "Task" has incompatible type "int"; expected "str"
    # pyright says: Argument of type "Literal[1]" cannot be assigned to parameter "url" of type "str"
    fetch.delay(1)
    # mypy says: Too many positional arguments for "delay" of "Task"
    # pyright says: Expected 1 positional argument
    fetch.delay("a", True)
    # mypy says: Argument 1 to "delay" of "Task" has incompatible type "str"; expected "int"
    # pyright says: Argument of type "Literal['1']" cannot be assigned to parameter "x" of type "int"
    bound.delay("1")


def with_options() -> None:
    """Publish with wrong options."""
    # mypy says: Unexpected keyword argument "countdwn" for "apply_async" of "Task"; did you mean "countdown"?
    # pyright says: No parameter named "countdwn"
    add.apply_async((1, 2), countdwn=3)
    # mypy says: Argument "countdown" to "apply_async" of "Task" has incompatible type "str"; expected "float | None"
    # pyright says: Argument of type "Literal['soon']" cannot be assigned to parameter "countdown" of type "float | None"
    add.apply_async((1, 2), countdown="soon")
    # mypy says: Unexpected keyword argument "queeu" for "set" of "Form"; did you mean "queue"?
    # pyright says: No parameter named "queeu"
    add.s(1).set(queeu="slow")
    # mypy says: Unexpected keyword argument "cuontdown" for "send_task" of "Sedano"; did you mean "countdown"?
    # pyright says: No parameter named "cuontdown"
    app.send_task("other", (), cuontdown=1)


async def looked_at() -> None:
    """Use values wrongly."""
    # mypy says: Incompatible types in assignment (expression has type "int", variable has type "str")
    # pyright says: Type "int" is not assignable to declared type "str"
    text: str = add.delay(1).get()
    # mypy says: Incompatible types in assignment (expression has type "int | Exception", variable has type "int")
    # pyright says: Type "int | Exception" is not assignable to declared type "int"
    maybe: int = add.delay(1).get(propagate=False)
    # mypy says: Incompatible types in assignment (expression has type "Coroutine[Any, Any, str]", variable has type "str")
    # pyright says: Type "Coroutine[Any, Any, str]" is not assignable to declared type "str"
    value: str = fetch("x")
    # mypy says: Incompatible types in assignment (expression has type "str", variable has type "int")
    # pyright says: Type "str" is not assignable to declared type "int"
    awaited: int = await fetch.delay("x")
    print(text, maybe, value, awaited)


def together() -> None:
    """Use canvases wrongly."""
    # mypy says: Incompatible types in assignment (expression has type "str", variable has type "int")
    # pyright says: Type "str" is not assignable to declared type "int"
    link: int = (add.s(1) | fetch.s()).delay().get()
    # mypy says: Incompatible types in assignment (expression has type "str", variable has type "int")
    # pyright says: Type "str" is not assignable to declared type "int"
    last: int = chain(add.s(1), fetch.s()).delay().get()
    # mypy says: Incompatible types in assignment (expression has type "str", variable has type "int")
    # pyright says: Type "str" is not assignable to declared type "int"
    body: int = chord([add.s(1)], fetch.s()).delay().get()
    # mypy says: Incompatible types in assignment (expression has type "list[int]", variable has type "list[str]")
    # pyright says: Type "list[int]" is not assignable to declared type "list[str]"
    many: list[str] = group(add.s(1), add.s(2)).delay().get()
    # mypy says: Incompatible types in assignment (expression has type "list[int]", variable has type "list[str]")
    # pyright says: Type "list[int]" is not assignable to declared type "list[str]"
    some: list[str] = ResultSet([add.delay(1)]).get()
    # mypy says: No overload variant of "chain" matches argument types "Sig[int]", "int"
    # pyright says: No overloads for "__init__" match the provided arguments
    chain(add.s(1), 5).delay()
    # mypy says: No overload variant of "__or__" of "Form" matches argument type "int"
    # pyright says: Operator "|" not supported for types "Sig[int]" and "Literal[5]"
    print(add.s(1) | 5)
    print(link, last, body, many, some)


def declared() -> None:
    """Declare wrongly."""
    # mypy says: Unexpected keyword argument "quue" for overloaded function "task" of "TaskDeclarer"; did you mean "queue"?
    # pyright says: No overloads for "task" match the provided arguments
    app.task(quue="x")
    # mypy says: No overload variant of "task" of "TaskDeclarer" matches argument type "str"
    # pyright says: Argument of type "Literal['twice']" cannot be assigned to parameter "delivery" of type "Delivery"
    app.task(delivery="twice")
    # mypy says: Argument 1 to "periodic" of "PeriodicTasks" has incompatible type "SyncTask[[int, int], int]"; expected "Cron | Every | At"
    # pyright says: Argument of type "SyncTask[(a: int, b: int = 2), int]" cannot be assigned to parameter "timetable" of type "Timetable"
    app.periodic(add)
    # mypy says: Unexpected keyword argument "queeu" for "periodic" of "PeriodicTasks"; did you mean "queue"?
    # pyright says: No parameter named "queeu"
    app.periodic(every(60), queeu="slow")
