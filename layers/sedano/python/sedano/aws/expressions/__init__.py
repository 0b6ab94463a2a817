"""Every conditional write, by name, one file for each subject. No other package contains the text of a condition or an update.

Theory. An item is a register that changes only by compare-and-swap: each write names, in its condition, exactly what its
writer believes, so a writer whose belief is out of date changes nothing and gets the item that proves it.

The own-write rule. The network may lose an answer; botocore then sends the same write again, and its condition fails
*because the first one succeeded*. Every write here leaves a mark that only its writer can have left, and the item is returned with the
refusal (`ReturnValuesOnConditionCheckFailure=ALL_OLD`, which costs nothing), so "refused, but the item has my mark" means: it is mine. A
mark is a nonce drawn inside the handler for each call, a token, or a value that one writer alone writes; never a name, which SnapStart and
frozen sandboxes clone.

The texts are constants: data travels only as values.
"""

from sedano.aws.expressions.write import Write

__all__ = ["Write"]
