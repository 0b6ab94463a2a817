"""The statements of group commit: claims and records as PartiQL, so that many go out in one call.

Faults that these texts prevent, beside those of `sedano.aws.expressions.tasks`:
* A task that begins again. INSERT is refused wherever there is an item, so it grants first claims alone. A claim that needs a record (a
  retry, an old message) is RECLAIM alone, and a refused INSERT goes on as CLAIM under the same nonce.
* A member of a pack under the fence of its body there. INSERT writes the first fence, so the claim of a member that left is CLAIM_LEFT
  alone.
* A record over another claim. END has the condition of RECORD, conjunct by conjunct.

The parameters have the names of the values of CLAIM and RECORD, in the order of the marks.
"""

from __future__ import annotations

from typing import NamedTuple

MOST = 25
"""The most statements of one call. DynamoDB refuses a call with two writes of one item."""


class Statement(NamedTuple):
    """A PartiQL statement: its *text* with a `?` for each parameter, the names of the *parameters* in the order of the marks, and whether
    a refusal *returns* the item that caused it.
    """

    text: str
    parameters: tuple[str, ...]
    returns: bool

    def of(self, table: str) -> Statement:
        """Return the statement for *table*."""
        return self._replace(text=self.text.replace("TABLE", f'"{table}"'))


INSERT = Statement(
    "INSERT INTO TABLE VALUE {'pk': ?, 'st': ?, 'nc': ?, 'mid': ?, 'exp': ?, 'clk': ?, 'nm': ?, 'own': ?, 'ttl': ?, 'try': ?, 'cnt': ?, "
    "'att': ?}",
    (":pk", ":running", ":nc", ":mid", ":exp", ":clk", ":nm", ":own", ":ttl", ":try", ":one", ":one"),
    returns=False,
)
"""CLAIM of a task without a record: its item becomes what CLAIM would write there."""

END = Statement(
    'UPDATE TABLE SET st = ? SET "try" = ? SET clk = ? SET nm = ? SET res = ? SET tail = ? SET "ttl" = ? '
    "WHERE pk = ? AND st = ? AND nc = ? AND att = ?",
    (":st", ":try", ":clk", ":nm", ":res", ":tail", ":ttl", ":pk", ":running", ":nc", ":att"),
    returns=True,
)
"""RECORD of an end that has no entry in an index."""
