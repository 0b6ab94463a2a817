"""The store of a stage's keys: one text, which is created once, whoever tries, and replaced only by those who say so."""

from sedano import memory
from sedano.model.seals import key_set
from sedano.ports.seals import KeyStore, Seals


def test_nothing_is_there_before_it_is_written(store: KeyStore) -> None:
    assert store.read() is None


def test_it_is_created_once_and_the_first_text_stays(store: KeyStore) -> None:
    assert [store.create("one"), store.create("two")] == [True, False]
    assert store.read() == "one"


def test_it_is_replaced_where_that_is_asked_for(store: KeyStore) -> None:
    store.create("one")
    store.replace("two")
    assert store.read() == "two"


def test_two_processes_that_begin_at_once_have_the_same_keys(store: KeyStore) -> None:
    """The second finds nothing when it looks, and is too late when it writes."""
    first, second = (memory.ports(seed=seed) for seed in (1, 2))
    late = Late(store)
    seals = Seals(store, first.clock, first.entropy, first.telemetry)
    others = Seals(late, second.clock, second.entropy, second.telemetry)
    late.before = lambda: seals.mark("slot", "1")
    given = others.mark("slot", "1")
    assert given
    assert seals.is_marked(given, "slot", "1")
    kept = store.read()
    assert kept is not None
    assert [*key_set.read(kept).keys] == ["k1"]


class Late:
    """A store in which something is written between a look and the write that follows."""

    def __init__(self, store: KeyStore) -> None:
        """Stand before *store*."""
        self._store = store
        self.before: object = None

    def read(self) -> str | None:
        """Look."""
        return self._store.read()

    def create(self, text: str) -> bool:
        """Be late."""
        if callable(self.before):
            self.before()
        return self._store.create(text)

    def replace(self, text: str) -> None:
        """Replace."""
        self._store.replace(text)
