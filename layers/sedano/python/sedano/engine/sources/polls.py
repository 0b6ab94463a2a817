"""Polls: each new item of a source that is read at intervals becomes a call of a task.

    read the state -> fetch -> claim the page -> publish -> move the cursor

The rule and its reasons are in `sedano.model.sources.polls`. A poll that finds nothing new reads one memo and writes nothing. An item with
which the task cannot be called is parked, and the poll continues after it. If a service is unavailable, the poll fails, the cursor stays,
and the next attempt publishes the same calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from sedano.engine.batch import Batch
from sedano.engine.drafts import Addressed, CommandDraft, Composer
from sedano.engine.parked.parking import ParkingLot
from sedano.engine.publisher.sender import Publisher
from sedano.engine.unexpected_errors import answers_of
from sedano.errors import ConfigurationError, MessageRefused, SedanoError, SourceBusy, Unavailable
from sedano.model import refusals
from sedano.model.history.run_rows import Chronicle, Host
from sedano.model.memos import Memo, memo_name
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.lineage import ROOT
from sedano.model.sources.polls import (
    HOLD_S,
    LONGEST_WAIT_S,
    POLL,
    QUEUE,
    Identity,
    Item,
    Polled,
    PollState,
    call_id,
    item_of,
    page_of,
    read_back,
    state_of,
    text_of,
    written,
)
from sedano.ports import Delivery, Ports

TOGETHER = 100
"""The number of items published together; after each group the remaining time is checked."""
MARGIN_S = 10.0
"""No page and no group of items begins this many seconds before the end of the claim of the poll's task."""
MOST_PAGES = 100
"""The most pages of one poll; the next poll reads the rest."""
HELD, WAITS, BEHIND = "another process publishes this page", "the source asked to wait", "another process moved the cursor"
"""Why a poll ends without items although it did not fail."""
Read = Callable[[Any, Callable[[str], str]], Polled | None]
"""Returns the page at a cursor; its second argument returns the text of a parameter, by its name."""
Called = Callable[[str, Any, str], CommandDraft]
"""Makes the call of a task, by its name, with an item, under an id. Raises `SedanoError` when there can be none."""


class Poll(NamedTuple):
    """A declared poll: its *name*, the function that reads its source, the *task* that is called with each item, the function that returns
    an item's identity (None: its content), and the names of the parameters that it reads."""

    name: str
    read: Read
    task: str
    identity: Identity | None = None
    secrets: Sequence[str] = ()


class PollRound(NamedTuple):
    """The result of a poll: how many *pages* it read, how many items it *published* and *parked*; *note*: why it stopped early."""

    pages: int = 0
    published: int = 0
    parked: int = 0
    note: str = ""

    def with_page(self, published: int, parked: int) -> PollRound:
        """Return the result after one more page."""
        return self._replace(pages=self.pages + 1, published=self.published + published, parked=self.parked + parked)


class Polls:
    """Reads the sources of an app."""

    def __init__(self, called: Called, ports: Ports, host: Host, lamport: LamportClock) -> None:
        """Call tasks as *called* does, over *ports*."""
        self._called, self._ports, self._host = called, ports, host
        self._composer = Composer(host.hostname, lamport, ports)
        self._publisher = Publisher(ports.queues, ports.timers, ports.clock, ports.entropy, ports.telemetry)
        self._parking = ParkingLot(ports, lamport)

    def run(self, poll: Poll, by: str, deadline: float) -> PollRound:
        """Publish the new items of *poll* on behalf of the task *by* until *deadline* (epoch s).

        Raises:
            SedanoError: the source or a service did not answer, or the source returned something else than a page.
        """
        done = PollRound()
        while done.pages < MOST_PAGES and (not done.pages or self._ports.clock.now() < deadline - MARGIN_S):
            done, more = self._page(poll, by, deadline, done)
            if not more:
                break
        if done.published:
            self._ports.telemetry.count("ItemsPolled", done.published)
        return done

    def again(self, poll: Poll, text: str) -> None:
        """Publish the call with the parked item in *text*; without an identity its id is derived from its content.

        Raises:
            SedanoError: it still cannot be made, or not be sent.
        """
        item = item_of(read_back(text), poll.identity)
        for error in self._publisher.publish_all([self._call(poll, item._replace(wrong=""))]):
            if error is not None:
                raise error

    def _page(self, poll: Poll, by: str, deadline: float, done: PollRound) -> tuple[PollRound, bool]:
        """Read and publish one page; return the result so far, and whether the next page can be read now."""
        seen, state = read_state(self._ports, poll.name)
        now = self._ports.clock.now()
        if now < state.wait or state.is_held(by, now):
            return done._replace(note=WAITS if now < state.wait else HELD), False
        try:
            polled = poll.read(state.cursor, self._secret)
        except SourceBusy as busy:
            return self._put_off(poll, seen, state, busy, done), False
        if polled is None:
            return done, False
        page, parked = page_of(state, polled, poll.identity), 0
        held: Memo | None = seen
        if page.items:
            claim = self._changed(seen, state.claimed(by, self._until(deadline)))
            if claim is None:
                return done._replace(note=HELD), False
            held, parked = self._let_out(poll, claim, state.claimed(by, deadline), page.items)
        after = state.moved(page, self._ports.clock.now(), parked)
        if held is None or (after != state and self._changed(held, after) is None):
            return done._replace(note=BEHIND), False
        return done.with_page(len(page.items) - parked, parked), page.more

    def _until(self, deadline: float) -> float:
        """Return when a claim of now ends."""
        return min(deadline, self._ports.clock.now() + HOLD_S)

    def _put_off(self, poll: Poll, seen: Memo, state: PollState, busy: SourceBusy, done: PollRound) -> PollRound:
        """Let no poll ask the source before the time that it names. A time in the past means the next poll."""
        until = self._ports.clock.now() + min(max(0.0, busy.seconds), LONGEST_WAIT_S)
        self._changed(seen, state.put_off(until))
        self._ports.telemetry.count("PollsPutOff")
        self._ports.telemetry.log("warning", "poll: the source asks to wait", poll=poll.name, seconds=busy.seconds, error=str(busy))
        return done._replace(note=WAITS)

    def _let_out(self, poll: Poll, claim: Memo, held: PollState, items: Sequence[Item]) -> tuple[Memo | None, int]:
        """Publish *items* in groups, and write after each which of them are done: the next attempt continues there.

        *held*: the state with the holder of *claim* and its deadline. Return the last memo (None: another process has taken the page
        over) and how many items were parked. If that fails, end the claim, so that others need not wait for its end.
        """
        deadline, parked, before, last = held.until, 0, held.released(), len(items) - TOGETHER
        try:
            for first in range(0, len(items), TOGETHER):
                if first and self._ports.clock.now() > deadline - MARGIN_S:
                    raise Unavailable(f"poll {poll.name}: {first} of {len(items)} items are published; the next attempt publishes the rest")
                group = items[first : first + TOGETHER]
                refused = self._group(poll, group)
                parked, before = parked + refused, before.let_out(group, self._ports.clock.now(), refused)
                if first < last:
                    going = self._changed(claim, before.claimed(held.by, self._until(deadline)))
                    if going is None:
                        return None, parked
                    claim = going
        except BaseException:
            with suppress(SedanoError):
                self._changed(claim, before)
            raise
        return claim, parked

    def _group(self, poll: Poll, items: Sequence[Item]) -> int:
        calls, refused = list[tuple[Item, Addressed]](), list[tuple[Item, MessageRefused]]()
        for item in items:
            try:
                calls.append((item, self._call(poll, item)))
            except MessageRefused as unfit:
                refused.append((item, unfit))
        answers = answers_of(self._ports.telemetry, self._publisher.publish_all, [call for _, call in calls])
        for (item, _), error in zip(calls, answers, strict=True):
            if error is None:
                continue
            if not error.is_final:
                raise error
            refused.append((item, MessageRefused(refusals.STREAM, "call", str(error))))
        self._park(poll, refused)
        return len(refused)

    def _call(self, poll: Poll, item: Item) -> Addressed:
        """Return the call with *item*.

        Raises:
            MessageRefused: there can be none, because of the item.
            SedanoError: it cannot be made now.
        """
        if item.wrong:
            raise MessageRefused(refusals.STREAM, "items" if item.text else "identity", item.wrong)
        try:
            return self._composer.compose(self._called(poll.task, item.value, call_id(poll.name, poll.task, item.id)), ROOT)
        except MessageRefused:
            raise
        except Exception as error:
            if isinstance(error, SedanoError) and not error.is_final:
                raise
            raise MessageRefused(refusals.STREAM, "call", f"{type(error).__name__}: {error}") from error

    def _park(self, poll: Poll, refused: Sequence[tuple[Item, MessageRefused]]) -> None:
        batch = Batch(self._ports.clock.now(), Chronicle(self._host))
        for item, why in refused:
            which = call_id(poll.name, poll.task, item.id)
            batch.park(Delivery(f"{QUEUE}{poll.name}", which, "", written(item)), why.code, why.field, why.detail)
        self._parking.settle(batch)
        if batch.given_back:
            raise Unavailable(f"poll {poll.name}: an item that its task cannot take could not be parked")

    def _changed(self, seen: Memo, state: PollState) -> Memo | None:
        """Write *state* where the memo is still as *seen*; return the new memo, or None if another process has changed it."""
        answer = self._ports.memos.change(Memo(seen.name, text_of(state), self._ports.entropy.nonce()), seen)
        return answer.memo if answer.done else None

    def _secret(self, parameter: str) -> str:
        return secret_of(self._ports, parameter)


def read_state(ports: Ports, name: str) -> tuple[Memo, PollState]:
    """Return the memo of the poll *name*, and the state in it.

    Raises:
        Unavailable: the store did not answer.
        MessageRefused: the memo cannot be read.
    """
    memo = memo_name(POLL, name)
    seen = ports.memos.read([memo]).get(memo, Memo(memo))
    return seen, state_of(seen.text)


def secret_of(ports: Ports, parameter: str) -> str:
    """Return the text of a *parameter* (``/shop/orders/token``), without white space around it.

    Raises:
        ConfigurationError: it does not exist or is empty.
        Unavailable: the store did not answer.
    """
    text = ports.parameters.text(parameter).strip()
    if not text:
        put = f"store it with: aws ssm put-parameter --type SecureString --name {parameter} --value …"
        raise ConfigurationError(f"poll: the parameter {parameter} does not exist or is empty; {put}")
    return text
