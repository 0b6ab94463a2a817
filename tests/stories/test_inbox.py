"""The inbox: sealed commands to workers. Each obeys once what is for it; what is not signed for it is refused and counted by its code."""

import base64
import hmac
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from sedano import Sedano, testing
from sedano.engine.worker.settings import WorkerSettings
from sedano.errors import OptionError, TooLarge
from sedano.memory import MemoryKeyStore
from sedano.model.cluster import inbox
from sedano.model.cluster.control_record import with_asked
from sedano.model.cluster.inbox import INBOX, MOST_ENTRIES, InboxCommand, InboxEntry
from sedano.model.memos import Memo
from sedano.model.seals import key_set, seal
from sedano.model.seals.key_set import KeySet
from sedano.ports import Ports
from sedano.ports.absent import absent
from sedano.ports.seals import Seals
from tests.stories.mutants import Delegating
from tests.stories.processes import Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage, in_memory

K1, K2 = "11" * 32, "22" * 32
KEYS = key_set.added(key_set.first(K1), K2)


class Floor:
    """A shop in memory with the keys k1 (signs) and k2, one worker that has said hello, and what reads its inbox counted."""

    def __init__(self, settings: WorkerSettings | None = None, **changed: Any) -> None:
        self.stage, self.shop, self.asked = in_memory(), Shop(), Counter[str]()
        base, store = self.stage.ports, MemoryKeyStore()
        store.create(key_set.written(KEYS))
        base = replace(base, seals=Seals(store, base.clock, base.entropy, base.telemetry))
        self.ports: Ports = replace(base, **changed)
        read = {"memos": "read", "control": "read", "members": "beat"}
        counted: dict[str, Any] = {port: Counting(getattr(self.ports, port), port, self.asked) for port in read}
        self.settings = (settings or WorkerSettings())._replace(lanes=0, heartbeat=0.0)
        self.processes = Processes(self.stage, self.shop.app, self.settings)
        self.shop.app.attach(self.ports)
        self.processes.restart(replace(self.ports, **counted))
        self.stage.pass_time(5.0)
        self.control = self.shop.app.control
        self.look()

    def look(self) -> dict[str, int]:
        """Let the worker have a batch; return what it read and wrote for it."""
        self.asked.clear()
        self.processes.worker.work([], self.stage.clock.now() + 30)
        return {**self.asked}

    def refused(self) -> dict[str, float]:
        """How many entries were refused, by their codes."""
        codes = (*seal.REFUSALS, *inbox.REFUSALS)
        found = {code: self.stage.telemetry.counted("InboxRefused", code=code) for code in codes}
        return {code: number for code, number in found.items() if number}

    def put(self, *entries: InboxEntry) -> None:
        """Write *entries* into the inbox, as whoever may write the table can, and announce them."""
        (seen,) = self.ports.memos.read([INBOX]).values() or (Memo(INBOX),)
        assert self.ports.memos.change(Memo(INBOX, inbox.text_of(entries), self.ports.entropy.nonce()), seen).done
        record, nonce = self.ports.control.read(), self.ports.entropy.nonce()
        self.ports.control.change(with_asked(record, f"{2**36} {nonce}", record.clock + 1, nonce), record)

    def asking(self, message_id: str = "m-1", verb: str = "ping", argument: str = "") -> InboxCommand:
        """A command that was issued now."""
        return inbox.asking(message_id, verb, argument, self.stage.clock.now(), 60)

    def sealed(self, asked: InboxCommand, to: str = inbox.WORKERS, keys: KeySet = KEYS) -> InboxEntry:
        """*asked* under a seal."""
        body = inbox.body_of(asked)
        return InboxEntry(to, seal.seal(body.encode(), keys, to, asked.issued, asked.expires), body)

    def obeyed(self) -> list[str]:
        """The ids that were obeyed."""
        return [line.fields["message_id"] for line in self.stage.telemetry.lines if line.message == "inbox: answered"]


class Counting(Delegating):
    """A port whose calls are counted by its name."""

    def __init__(self, inner: Any, port: str, asked: Counter[str]) -> None:
        super().__init__(inner)
        self._port, self._asked = port, asked

    def __getattr__(self, name: str) -> Any:
        self._asked[f"{self._port}.{name}"] += 1
        return super().__getattr__(name)


@pytest.fixture
def floor() -> Floor:
    """A floor of its own."""
    return Floor()


def test_each_worker_answers_a_ping_once(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app, WorkerSettings(lanes=0, heartbeat=0.0))
    workers = [processes.worker, processes.another_worker(name="other")]
    stage.pass_time(2.0)
    ping = shop.app.control.broadcast("ping")
    assert shop.app.control.answers(ping) == {}
    for _ in range(3):
        for worker in workers:
            worker.work([], stage.clock.now() + 30)
    assert shop.app.control.answers(ping) == {"worker.1": "pong", "other.1": "pong"}
    assert [line.message for line in stage.telemetry.lines].count("inbox: answered") == 2


def test_while_nothing_is_asked_the_inbox_is_never_read_and_a_command_costs_one_read_and_one_write(floor: Floor) -> None:
    idle = {"control.read": 1, "members.beat": 1}
    assert floor.look() == floor.look() == idle
    floor.control.pause_queue("default")
    assert floor.look() == idle, "another change of the record asks nothing"
    floor.control.resume_queue("default")
    floor.control.broadcast("ping")
    assert floor.look() == {"control.read": 1, "members.beat": 2, "memos.read": 1}
    assert floor.look() == floor.look() == idle


def test_a_worker_that_starts_after_a_command_has_expired_reads_no_inbox(floor: Floor) -> None:
    floor.control.broadcast("ping", seconds=60)
    floor.stage.pass_time(60 + seal.TOLERANCE_S + 1.0)
    assert floor.look() == {"control.read": 1, "members.beat": 1}
    assert floor.obeyed() == []


def test_a_worker_that_starts_later_is_not_asked(floor: Floor) -> None:
    ping = floor.control.broadcast("ping")
    floor.stage.pass_time(1.0)
    floor.processes.restart(floor.ports)
    floor.look()
    assert (floor.control.answers(ping), floor.refused()) == ({}, {})


def test_a_command_to_one_worker_is_left_alone_by_the_others(floor: Floor) -> None:
    other = floor.processes.another_worker(floor.ports, name="other")
    ping = floor.control.broadcast("ping", to="other.2")
    other.work([], floor.stage.clock.now() + 30)
    floor.look()
    assert (floor.control.answers(ping), floor.refused()) == ({"other.2": "pong"}, {})


def test_the_counts_of_a_worker_are_an_answer(floor: Floor) -> None:
    floor.shop.add.delay(1, 1)
    floor.processes.drain()
    stats = floor.control.broadcast("stats")
    floor.look()
    found = json.loads(floor.control.answers(stats)["worker.2"])
    assert (found["worked"], found["running"], found["seconds"]) == (1, 0, 5)
    assert found["pid"] > 0 < found["threads"]


def test_the_stacks_of_all_threads_are_logged_with_functions_and_without_values(floor: Floor) -> None:
    secret = "a value of this frame"
    stacks = floor.control.broadcast("stacks")
    floor.look()
    lines = [line for line in floor.stage.telemetry.lines if line.message == "inbox: stack of a thread"]
    assert floor.control.answers(stacks) == {"worker.2": f"{len(lines)} threads logged"}
    (own,) = [line.fields for line in lines if line.fields["thread"] == "MainThread"]
    assert any(at.endswith(" test_the_stacks_of_all_threads_are_logged_with_functions_and_without_values") for at in own["stack"])
    assert secret not in str(own)


def test_a_health_check_is_run_at_once_and_its_state_reaches_the_circuits() -> None:
    app, found = Sedano("checked"), ["unhealthy"]
    check = app.health_check("disk")

    @check
    def look() -> tuple[str, str]:
        return found[0], "full"

    with testing.world(app) as world:
        asked = [app.control.broadcast("check_health", name) for name in ("disk", "dusk")]
        world.clock.advance(1.0)
        app.task(name="idle")(lambda: None).delay()
        world.drain()
        assert [[*app.control.answers(one).values()] for one in asked] == [["unhealthy full"], ["no health check dusk"]]
        assert "health changed" in world.telemetry.messages()


@pytest.mark.parametrize("verb", ["drain", "pause", "resume", "retry_boot", "reload", "concurrency 4", "terminate t-1"])
def test_a_worker_that_is_no_process_of_its_own_answers_that_it_cannot(floor: Floor, verb: str) -> None:
    asked = floor.control.broadcast(*verb.split())
    floor.look()
    assert floor.control.answers(asked) == {"worker.2": "unsupported"}
    floor.shop.add.delay(1, 1)
    floor.processes.drain()
    assert floor.shop.ran["add"] == 1


def test_a_verb_of_a_newer_version_is_answered_and_not_obeyed(floor: Floor) -> None:
    times = floor.asking()[3:]
    floor.put(floor.sealed(InboxCommand("m-1", "shutdown", "", *times)), floor.sealed(InboxCommand("m-2", "ping", "x", *times)))
    floor.look()
    assert [floor.control.answers(one) for one in ("m-1", "m-2")] == [{"worker.2": "unsupported"}] * 2


def test_a_function_that_fails_costs_its_own_command_alone(floor: Floor) -> None:
    def broken() -> None:
        raise RuntimeError("no way out")

    floor.processes.worker.commands.host["drain"] = broken
    asked = [floor.control.broadcast(verb) for verb in ("drain", "ping")]
    floor.look()
    assert [floor.control.answers(one)["worker.2"] for one in asked] == ["failed", "pong"]


def test_a_command_that_is_put_back_is_obeyed_once(floor: Floor) -> None:
    entry = floor.sealed(floor.asking())
    for entries in ((entry,), (), (entry, entry), (floor.sealed(floor.asking(), keys=key_set.signing(KEYS, "k2")),)):
        floor.put(*entries)
        floor.look()
    assert (floor.obeyed(), floor.refused()) == (["m-1"], {})


def test_no_further_command_is_obeyed_when_no_more_ids_can_be_remembered(floor: Floor) -> None:
    for start in range(0, inbox.MOST_OBEYED + 20, 20):
        floor.put(*(floor.sealed(floor.asking(str(number))) for number in range(start, start + 20)))
        floor.look()
    assert (len(floor.obeyed()), floor.refused()) == (inbox.MOST_OBEYED, {"too_many": 20})
    floor.put(floor.sealed(floor.asking("0")))
    floor.look()
    assert len(floor.obeyed()) == inbox.MOST_OBEYED, "an id is not forgotten for another"


def flipped(text: str) -> Iterator[str]:
    """*text* with each bit of its bytes changed."""
    data = text.encode()
    for place in range(len(data)):
        for bit in range(8):
            yield (data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :]).decode("latin-1")


def tampered(floor: Floor, good: InboxEntry, asked: InboxCommand) -> list[tuple[str, InboxEntry]]:
    """Entries that no holder of a key of the stage made for this worker now, each with its kind."""
    to, header, body = good
    later, mine = int(floor.stage.clock.now()), "worker:worker.2"
    cases = [("header", InboxEntry(to, one, body)) for one in flipped(header)]
    cases += [("body", InboxEntry(to, header, one)) for one in flipped(body)]
    cases += [("header cut", InboxEntry(to, header[:end], body)) for end in range(1, len(header))]
    cases += [("body cut", InboxEntry(to, header, body[:end])) for end in range(len(body))]
    cases += [("audience", InboxEntry(mine, header, body)), ("audience", InboxEntry(to, floor.sealed(asked, "worker:other").seal, body))]
    cases += [("audience", InboxEntry(mine, floor.sealed(asked, "worker:other").seal, body))]
    cases += [("moved", InboxEntry(to, header.replace("to=workers", f"to={mine}"), body))]
    stranger = KeySet("k1", {"k1": bytes(32)})
    for kid in ("k2", "k9", "K1"):
        cases.append(("kid", InboxEntry(to, header.replace("k=k1", f"k={kid}"), body)))
    cases += [("stranger", floor.sealed(asked, keys=stranger)), ("stranger", floor.sealed(asked, keys=KeySet("k3", {"k3": bytes(32)})))]
    for issued, expires in ((later - 900, later - 61), (later + 62, later + 99), (0, 900)):
        cases.append(("time", InboxEntry(to, seal.seal(body.encode(), KEYS, to, issued, expires), body)))
    other = (header.replace("t=", "t=0"), header.replace("v1;", "v2;"), header.upper())
    for wrong in (f"{header}\n", f" {header}", header * 2, *other, "none"):
        cases.append(("spelling", InboxEntry(to, wrong, body)))
    mark = seal.mark(KEYS, "inbox", body)
    return [*cases, ("mark", InboxEntry(to, mark, body)), ("unsigned", InboxEntry(to, "", body))]


def test_of_all_tampered_commands_none_is_obeyed_and_each_is_counted_and_logged_without_its_body(floor: Floor) -> None:
    asked = floor.asking()._replace(argument="secret-" * 12)
    good = floor.sealed(asked)
    cases = tampered(floor, good, asked)
    assert len(cases) >= 1_960
    for start in range(0, len(cases), MOST_ENTRIES):
        floor.put(*(entry for _, entry in cases[start : start + MOST_ENTRIES]))
        floor.look()
    distinct = sum(len({*(entry for _, entry in cases[start : start + MOST_ENTRIES])}) for start in range(0, len(cases), MOST_ENTRIES))
    refused = floor.refused()
    assert (floor.obeyed(), sum(refused.values())) == ([], distinct)
    assert {*refused} == {*seal.REFUSALS, inbox.UNSIGNED} - {seal.LIVES_TOO_LONG}
    logged = [line for line in floor.stage.telemetry.lines if line.message == "inbox: a command was refused"]
    assert len(logged) == distinct
    assert {name for line in logged for name in line.fields} == {"code"}
    floor.put(good)
    floor.look()
    assert floor.obeyed() == ["m-1"], "the one that was not tampered with is obeyed after all that"


def test_a_seal_that_lives_too_long_is_refused(floor: Floor) -> None:
    asked = floor.asking()
    body, ends = inbox.body_of(asked), asked.issued + seal.LONGEST_LIFE_S + 1
    said = f"sedano-seal-v1\nk1\n{asked.issued}\n{ends}\nworkers\n{body}".encode()
    mac = base64.urlsafe_b64encode(hmac.digest(bytes.fromhex(K1), said, "sha256"))[:43].decode()
    floor.put(InboxEntry(inbox.WORKERS, f"v1;k=k1;t={asked.issued};x={ends};to=workers;s={mac}", body))
    floor.look()
    assert (floor.obeyed(), floor.refused()) == ([], {seal.LIVES_TOO_LONG: 1})


def test_a_sealed_body_that_asks_nothing_is_refused(floor: Floor) -> None:
    now = int(floor.stage.clock.now())
    for body in ("", "{}", "[", json.dumps({**floor.asking()._asdict(), "more": 1})):
        floor.put(InboxEntry(inbox.WORKERS, seal.seal(body.encode(), KEYS, inbox.WORKERS, now, now + 60), body))
        floor.look()
    assert (floor.obeyed(), floor.refused()) == ([], {inbox.UNREADABLE: 4})


def test_both_keys_hold_while_one_follows_the_other(floor: Floor) -> None:
    floor.put(floor.sealed(floor.asking("old")), floor.sealed(floor.asking("new"), keys=key_set.signing(KEYS, "k2")))
    floor.look()
    assert floor.obeyed() == ["old", "new"]


def test_commands_without_a_seal_are_obeyed_by_a_setting_alone_that_warns_at_each_start() -> None:
    warning = "the inbox of this worker obeys commands without a seal (unsigned_inbox)"
    for unsigned in (False, True):
        floor = Floor(WorkerSettings(unsigned_inbox=unsigned), seals=absent("seals"))
        floor.control.broadcast("ping")
        floor.look()
        assert len(floor.obeyed()) == unsigned
        assert floor.stage.telemetry.messages("warning").count(warning) == 2 * unsigned, "two workers were started"


def test_the_setting_lets_in_no_seal_that_is_wrong_and_no_time_that_is_over() -> None:
    floor = Floor(WorkerSettings(unsigned_inbox=True))
    asked = floor.asking()
    old = asked._replace(id="old", expires=asked.issued - seal.TOLERANCE_S - 1)
    wrong = floor.sealed(asked, keys=KeySet("k1", {"k1": bytes(32)}))
    floor.put(wrong, InboxEntry(inbox.WORKERS, "", inbox.body_of(old)))
    floor.look()
    assert (floor.obeyed(), floor.refused()) == ([], {seal.BAD_SIGNATURE: 1, seal.EXPIRED: 1})


def test_a_worker_that_cannot_have_the_keys_reads_nothing_and_obeys_when_it_has_them() -> None:
    floor = Floor()
    store = MemoryKeyStore()
    store.create("not keys")
    floor.ports = replace(floor.ports, seals=Seals(store, floor.ports.clock, floor.ports.entropy, floor.ports.telemetry))
    floor.processes.restart(floor.ports)
    ping = floor.control.broadcast("ping", seconds=600)
    floor.look()
    assert floor.control.answers(ping) == {}
    store.replace(key_set.written(KEYS))
    floor.stage.pass_time(61.0)
    floor.look()
    assert floor.control.answers(ping) == {"worker.3": "pong"}


def test_a_full_inbox_and_a_name_that_no_worker_has_are_refused_where_the_command_is_made(floor: Floor) -> None:
    with pytest.raises(OptionError, match="audience"):
        floor.control.broadcast("ping", to="two words")
    for _ in range(MOST_ENTRIES):
        floor.control.broadcast("ping")
    with pytest.raises(TooLarge, match="32 commands"):
        floor.control.broadcast("ping")
    floor.look()
    assert len(floor.obeyed()) == MOST_ENTRIES


def test_a_worker_keeps_its_latest_four_answers_in_its_heartbeats(floor: Floor) -> None:
    asked = [floor.control.broadcast("ping") for _ in range(6)]
    floor.look()
    floor.look()
    floor.processes.worker.leave()
    assert [bool(floor.control.answers(one)) for one in asked] == [False, False, True, True, True, True]
