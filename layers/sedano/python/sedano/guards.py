"""Guards: the resource itself refuses a writer whose term has ended. One line each, for DynamoDB, S3 and SQL.

    with app.lock("account/7", duration=30) as lease:
        guards.update_item(dynamodb, lease, TableName="accounts", Key=key, UpdateExpression="SET balance = :n", ...)
        guards.put_object(s3, lease, Bucket="reports", Key="2026.csv", Body=report)
        guards.execute(database, lease, "UPDATE account SET balance = :n, fence = :fence WHERE id = 7 AND fence <= :fence", {"n": 5})

A lease alone cannot stop a holder that is paused, loses the lease, and writes when it resumes: the holder does not notice the loss, and its
own checks cannot detect it in time. The resource can: it stores the highest token that wrote and refuses a lower one with `FencedOff`
(Kleppmann 2016). A new holder that reads before it writes calls `fence_in` or `fence_in_pointer` first, so that no earlier holder can
change the data that it has read.

A receiver that cannot compare tokens (e-mail, another company's API) usually gets a call once and occasionally twice. Tested recipes:
`docs/fencing.md`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sedano.aws.fencing.items import Holder, fence_in, put_item, token_of, transact, update_item
from sedano.aws.fencing.objects import fence_in_pointer, point, pointed, put_object, scoped
from sedano.errors import FencedOff, OptionError

__all__ = [
    "FencedOff", "execute", "fence_in", "fence_in_pointer", "point", "pointed", "put_item", "put_object", "scoped", "transact",
    "update_item",
]  # fmt: skip


def execute(connection: Any, holder: Holder, statement: str, parameters: Mapping[str, Any]) -> int:
    """Execute a SQL *statement* that writes only where no later holder has, and return how many rows it wrote.

    The statement sets a column to the token and compares it, both by the parameter `fence`, which is bound here:
    ``UPDATE account SET balance = :n, fence = :fence WHERE id = :id AND fence <= :fence`` (SQLite; ``%(fence)s`` for psycopg).

    Args:
        connection: a connection or cursor with `execute`, as SQLite's and psycopg's have.
        holder: the lease, or its token.
        statement: the statement, with named parameters.
        parameters: its other parameters.

    Raises:
        FencedOff: no row was written: a later holder has written it, or the row is missing.
        OptionError: the statement does not mention the fence twice, so it would not guard anything.
    """
    if max(statement.count(":fence"), statement.count("%(fence)s")) < 2:
        raise OptionError("statement: it must set a column to `:fence` and compare it: … fence = :fence … WHERE … fence <= :fence")
    token = token_of(holder)
    written = int(connection.execute(statement, {**parameters, "fence": token}).rowcount)
    if written == 0:
        raise FencedOff("the row", token)
    return written
