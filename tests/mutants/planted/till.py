"""A small module for the test of the runner: some of its mutants are noticed by `judge_till`, one never ends, one survives."""

from collections.abc import Callable
from functools import lru_cache

MOST = 3


def change(paid: int, price: int) -> list[int]:
    """Return the coins of 5 and 1 for what was paid above the price."""
    if paid < price:
        raise ValueError("too little")
    left, coins = paid - price, []
    while left > 0:
        coin = 5 if left >= 5 else 1
        coins.append(coin)
        left -= coin
    return coins


def larger(one: int, two: int) -> int:
    """Return the larger one; of equal ones either will do, so a mutant of this is equivalent."""
    if one > two:
        return one
    return two


@lru_cache
def is_round(price: int) -> bool:
    """Tell whether a price has no coins of 1 in it; two judges ask for the same price, and only the second looks at the answer."""
    return price % 5 == 0


def receipt(paid: int, name: str) -> str:
    """Return the text of a receipt."""
    return _line(paid, name)


def _line(paid: int, name: str) -> str:
    return f"{paid} {name}"


class Till:
    """Counts sales."""

    def __init__(self) -> None:
        self.sales = 0

    def sell(self, price: int) -> bool:
        """Sell at most so many things, none of them for nothing."""
        if self.sales < MOST and price > 0:
            self.sales += 1
            return True
        return False

    def close(self) -> int:
        """Only a late judge calls this."""
        return self.sales * 2

    def count(self) -> int:
        """Only the second of two judges that take a second each notices what is wrong here."""
        return self.sales * 3

    def reopen(self) -> int:
        """Only a judge that takes long where an interruption is swallowed notices what is wrong here."""
        return self.sales * 4

    def never_asked(self) -> int:
        """No judge calls this."""
        return self.sales + 1


def _above(least: int) -> Callable[[object], bool]:
    def is_above(price: object) -> bool:
        return isinstance(price, int) and price > least

    return is_above


IS_DEAR = _above(100)
