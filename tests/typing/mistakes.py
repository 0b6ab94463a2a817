"""What a user writes wrongly: each line below a comment is refused by both checkers, with these words, and no other line is.

`test_checkers.py` runs them. mypy's words come first, pyright's after them.
"""

from dataclasses import dataclass

from sedano import ResultSet, Sedano, chain, chord, current, every, group
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


def created() -> None:
    """Create an app wrongly."""
    # mypy says: List item 0 has incompatible type "str"; expected "type[Exception]"
    # pyright says: Argument of type "list[str]" cannot be assigned to parameter "raises"
    Sedano("wrong", raises=["OrderRefused"])


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


@dataclass(frozen=True)
class Settings:
    """Have a whole number."""

    size: int = 1


def print_twice(text: str) -> None:
    """Take an argument."""


def plain() -> None:
    """Be no coroutine."""


def in_workers() -> None:
    """Declare wrongly what workers have."""
    settings = app.configure(Settings, layers=["env:SHOP_"])
    # mypy says: Incompatible types in assignment (expression has type "int", variable has type "str")
    # pyright says: Type "int" is not assignable to declared type "str"
    wrong: str = settings().size
    # mypy says: Unexpected keyword argument "aftr" for overloaded function "boot" of "Booting"; did you mean "after"?
    # pyright says: No overloads for "boot" match the provided arguments
    app.boot(aftr=["database"])
    # mypy says: Value of type variable "F" of "boot" of "Booting" cannot be "Callable[[str], None]"
    # pyright says: Argument of type "(text: str) -> None" cannot be assigned to parameter "function" of type "F@boot"
    app.boot(print_twice)
    # mypy says: Value of type variable "S" of "service" of "Booting" cannot be "Callable[[], None]"
    # pyright says: Argument of type "() -> None" cannot be assigned to parameter "function" of type "S@service"
    app.service(plain)
    # mypy says: Value of type variable "BeforeHook" of "before_run" of "Hooked" cannot be "Callable[[str], None]"
    # pyright says: Argument of type "(text: str) -> None" cannot be assigned to parameter "function" of type "BeforeHook@before_run"
    app.before_run(print_twice)
    # mypy says: Unexpected keyword argument "memroy" for "boxed" of "AppTasks"; did you mean "memory"?
    # pyright says: No parameter named "memroy"
    app.boxed("resize", ["resize"], memroy="512M")
    print(wrong)


def with_effects() -> None:
    """Write to tables wrongly."""
    # mypy says: Missing named argument "key" for "table" of "Tables"
    # pyright says: Argument missing for parameter "key"
    app.table("orders")
    # mypy says: Argument 2 to "put" of "TableWrites" has incompatible type "str"; expected "Mapping[str, Any]"
    # pyright says: Argument of type "Literal['o-1']" cannot be assigned to parameter "item" of type "Row"
    current().effects.put("orders", "o-1")
    # mypy says: Unexpected keyword argument "ad" for "update" of "TableWrites"; did you mean "add"?
    # pyright says: No parameter named "ad"
    current().effects.update("orders", {"order": "o-1"}, ad={"count": 1})
    # mypy says: Dict entry 0 has incompatible type "str": "str"; expected "str": "int"
    # pyright says: Argument of type "dict[str, str]" cannot be assigned to parameter "add" of type "Mapping[str, int] | None"
    current().effects.update("orders", {"order": "o-1"}, add={"count": "1"})
    # mypy says: Unexpected keyword argument "second" for "broadcast" of "InboxControl"; did you mean "seconds"?
    # pyright says: No parameter named "second"
    app.control.broadcast("ping", second=5)


def with_documents() -> None:
    """Declare and publish documents wrongly."""
    # mypy says: Unexpected keyword argument "qeue" for "sink" of "Documents"; did you mean "queue"?
    # pyright says: No parameter named "qeue"
    app.sink("bi", qeue="mail")
    # mypy says: Argument "sinks" to "document" of "Documents" has incompatible type "int"
    # pyright says: Argument of type "Literal[7]" cannot be assigned to parameter "sinks" of type
    app.document("price", sinks=7)
    # mypy says: Unexpected keyword argument "key" for "publish" of "DocumentType"
    # pyright says: No parameter named "key"
    app.document("price").publish({}, key="sku-7")
