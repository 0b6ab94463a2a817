"""`sedano keys` over memory, moto and a real endpoint: it makes, lists, changes and drops the keys of a stage, and never prints one."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from sedano import memory
from sedano.cli import main
from sedano.model.seals import key_set
from sedano.model.seals.key_set import KEPT_S, OLD_S
from sedano.ports import Ports
from sedano.ports.seals import KeyStore, Seals
from tests.stories import bakery
from tests.stories.terminals import items

AB, CD = "ab" * 32, "cd" * 32
ESCAPES = "\x1b]52;c;ZXZpbA==\x07\x9b31m\u202e"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def ports(store: KeyStore) -> Iterator[Ports]:
    """A stage with that store, whose clock does not wait."""
    own = memory.ports()
    ports = replace(own, seals=Seals(store, own.clock, own.entropy, own.telemetry))
    bakery.app.attach(ports)
    yield ports
    bakery.app.attach(None)


@pytest.fixture
def run(ports: Ports, store: KeyStore, capsys: pytest.CaptureFixture[str]) -> Run:
    """What `sedano keys …` answers; none of the stage's secrets is in it, and no control character."""

    def run(*arguments: str) -> tuple[int, str, str]:
        before = store.read() or ""
        agreed = ["--yes"] if arguments[0] != "list" else []
        status = main(["keys", *arguments, *agreed, "--app", "tests.stories.bakery:app"])
        said = capsys.readouterr()
        for secret in re.findall("[0-9a-fA-F]{32,}", before + (store.read() or "")):
            assert secret not in said.out + said.err
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", said.out + said.err)
        return status, said.out, said.err

    return run


def seals_of(ports: Ports, store: KeyStore) -> Seals:
    """What signs and verifies for a process that begins now."""
    return Seals(store, ports.clock, ports.entropy, ports.telemetry)


def rows(out: str) -> list[dict[str, Any]]:
    """What `--json` printed."""
    return items(out)


def states(run: Run) -> dict[str, str]:
    """What each key is for now."""
    return {row["key"]: row["state"] for row in rows(run("list", "--json")[1])}


def wait(ports: Ports, seconds: float) -> None:
    """Let *seconds* pass."""
    ports.clock.sleep(seconds)


def test_a_stage_without_keys_is_shown_as_one(run: Run) -> None:
    assert run("list") == (0, "", "this stage has no keys yet; the first function that needs them makes one, or `sedano keys init`\n")
    assert run("list", "--json") == (0, '{"schema": "sedano.keys/1", "items": []}\n', "")
    for verb in (["rotate"], ["revoke", "k1"]):
        status, out, err = run(*verb)
        assert (status, out) == (1, "")
        assert err == "sedano keys: this stage has no keys yet; `sedano keys init` makes the first one\n"


def test_init_makes_the_first_key_and_makes_no_second(run: Run, store: KeyStore) -> None:
    assert run("init") == (0, "k1 made\n", "sedano keys: make the first key\n")
    text = store.read()
    status, out, err = run("init")
    assert (status, out) == (1, "")
    assert "`sedano keys rotate` lets a new one sign, `sedano keys init --replace` drops them all" in err
    assert store.read() == text


def test_list_shows_ids_and_ages_of_keys_that_a_function_or_a_person_made(run: Run, ports: Ports) -> None:
    ports.seals.mark("slot", "1")
    wait(ports, 3 * 86_400)
    (row,) = rows(run("list", "--json")[1])
    assert (row["key"], row["state"], row["until"]) == ("k1", "signs", None)
    assert 3 * 86_400 - 1 <= row["age"] <= 3 * 86_400 + 1
    status, out, _ = run("list")
    (line,) = out.splitlines()
    key, state, _, age, until = line.split("\t")
    assert (status, key, state, until) == (0, "k1", "signs", "")
    assert 3 * 86_400 - 1 <= float(age) <= 3 * 86_400 + 1


def test_list_shows_keys_of_which_nobody_knows_the_age(run: Run, store: KeyStore) -> None:
    store.create(key_set.written(key_set.added(key_set.first(AB), CD)))
    assert [(row["key"], row["state"], row["made"], row["age"], row["until"]) for row in rows(run("list", "--json")[1])] == [
        ("k1", "signs", None, None, None), ("k2", "holds", None, None, None),
    ]  # fmt: skip


def test_rotate_waits_until_every_process_knows_the_new_key(run: Run, ports: Ports, store: KeyStore) -> None:
    run("init")
    process = seals_of(ports, store)
    old = process.mark("parked", "1")
    began = ports.clock.now()
    status, out, err = run("rotate")
    assert status == 0
    assert ports.clock.now() - began == pytest.approx(KEPT_S, abs=1.0)
    assert err.splitlines() == [
        "sedano keys: add 1 key", "sedano keys: wait 300 s, then let 1 new key sign in place of k1",
        "sedano keys: k2 added; it signs in 300 s, when every process knows it",
    ]  # fmt: skip
    assert out.startswith("k2 signs; processes use it within 300 s; k1 is valid until ")
    assert states(run) == {"k1": "holds", "k2": "signs"}
    other = seals_of(ports, store)
    new = other.mark("parked", "1")
    assert new.startswith("k2;")
    assert all(one.is_marked(mark, "parked", "1") for one in (process, other) for mark in (old, new))
    assert ports.telemetry.counted("MarksRefused", kind="parked") == 0  # type: ignore[attr-defined] # of memory


def test_rotate_does_one_step_at_a_time_and_goes_on_where_it_was_interrupted(run: Run, ports: Ports) -> None:
    run("init")
    status, out, err = run("rotate", "--no-wait")
    assert (status, err) == (0, "sedano keys: add 1 key\nsedano keys: k1 continues to sign\n")
    assert out.startswith("k2 added, k1 signs; call `sedano keys rotate` again at 2")
    assert states(run) == {"k1": "signs", "k2": "coming"}
    wait(ports, 100)
    run("rotate", "--no-wait")
    assert states(run) == {"k1": "signs", "k2": "coming"}
    began = ports.clock.now()
    assert "it signs in 200 s" in run("rotate")[2]
    assert ports.clock.now() - began == pytest.approx(200, abs=1.0)
    assert states(run) == {"k1": "holds", "k2": "signs"}


def test_the_old_key_holds_for_fourteen_days_and_the_next_rotation_drops_it(run: Run, ports: Ports, store: KeyStore) -> None:
    run("init")
    mark = seals_of(ports, store).mark("parked", "1")
    run("rotate")
    wait(ports, 14 * 86_400)
    assert seals_of(ports, store).is_marked(mark, "parked", "1")
    run("rotate", "--no-wait")
    assert states(run) == {"k1": "holds", "k2": "signs", "k3": "coming"}
    wait(ports, OLD_S - 14 * 86_400)
    status, _, err = run("rotate", "--no-wait")
    assert (status, err.splitlines()) == (0, [
        "sedano keys: drop 1 old keys: k1", "sedano keys: let k3 sign in place of k2",
        "sedano keys: k1 dropped, because no message with its mark can still arrive",
    ])  # fmt: skip
    assert states(run) == {"k2": "holds", "k3": "signs"}
    assert not seals_of(ports, store).is_marked(mark, "parked", "1")


def test_a_key_that_others_know_is_gone_at_once(run: Run, ports: Ports, store: KeyStore) -> None:
    run("init")
    mark = seals_of(ports, store).mark("parked", "1")
    began = ports.clock.now()
    assert run("rotate", "--at-once")[0] == 0
    assert ports.clock.now() - began < 1.0
    plan = "sedano keys: drop 1 key of 2: k1; parked messages that it marked become foreign\n"
    assert run("revoke", "k1", "--at-once") == (0, "k1 dropped; processes forget it within 300 s\n", plan)
    assert states(run) == {"k2": "signs"}
    assert not seals_of(ports, store).is_marked(mark, "parked", "1")


def test_what_is_still_needed_is_not_revoked_by_mistake(run: Run, ports: Ports, store: KeyStore) -> None:
    run("init")
    for at_once in ([], ["--at-once"]):
        status, _, err = run("revoke", "k1", *at_once)
        assert (status, "k1: this is the signing key; rotate first: `sedano keys rotate`" in err) == (1, True)
    run("rotate")
    text = store.read()
    status, _, err = run("revoke", "k1")
    assert (status, store.read()) == (1, text)
    assert "parked messages may have its mark until 20" in err
    assert "give --at-once" in err
    wait(ports, OLD_S + 1)
    assert run("revoke", "k1") == (0, "k1 dropped; processes forget it within 300 s\n", "sedano keys: drop 1 key of 2: k1\n")


def test_a_key_that_never_signed_is_revoked_without_more(run: Run) -> None:
    run("init")
    run("rotate", "--no-wait")
    assert run("revoke", "k2")[0] == 0
    assert states(run) == {"k1": "signs"}


def test_a_key_of_unknown_age_is_revoked_at_once_or_not_at_all(run: Run, store: KeyStore) -> None:
    store.create(key_set.written(key_set.added(key_set.first(AB), CD)))
    status, _, err = run("revoke", "k2")
    assert (status, "for an unknown time" in err) == (1, True)
    assert run("revoke", "k2", "--at-once")[0] == 0


def test_a_key_that_is_not_there_is_named_among_those_that_are(run: Run) -> None:
    run("init")
    assert run("revoke", "k9") == (1, "", "sedano keys: k9: not a key of this stage; it has k1\n")
    status, _, err = run("revoke", ESCAPES)
    assert (status, "not a key of this stage" in err) == (1, True)


def test_four_keys_are_the_most(run: Run) -> None:
    run("init")
    for _ in range(3):
        assert run("rotate", "--at-once")[0] == 0
    status, _, err = run("rotate", "--at-once")
    assert (status, "the stage already has 4 (k1, k2, k3, k4); revoke one with `sedano keys revoke`" in err) == (1, True)


@pytest.mark.parametrize("verb", [["init", "--replace"], ["rotate", "--at-once"], ["rotate"], ["rotate", "--no-wait"], ["list"]])
def test_every_verb_speaks_to_programs_too(run: Run, verb: list[str]) -> None:
    run("init")
    status, out, _ = run(*verb, "--json")
    assert status == 0
    assert all(row.keys() == {"key", "state", "made", "age", "until"} for row in rows(out))
    assert [row["state"] for row in rows(out)].count("signs") == 1


HOSTILE = [
    "x", "{", "[]", '{"sign":"k1"}', f'{{"sign":"k9","keys":{{"k1":"{AB}"}}}}', f'{{"sign":"k1","keys":{{"k1":"{AB.upper()}"}}}}',
    json.dumps({"sign": ESCAPES, "keys": {ESCAPES: AB}}), json.dumps({"sign": "k1", "keys": {"k1": AB + ESCAPES}}),
    json.dumps({"sign": "k1", "keys": {"k1": AB}, "times": {"k1": [2**60, 0]}}),
    json.dumps({"sign": "k1", "keys": {"k1": AB}, "times": {"k2": [1, 0]}}), json.dumps({"sign": "k1", "keys": {"k1": AB}, "times": [AB]}),
    json.dumps({"sign": "k1", "keys": {"k1": AB}, "times": {"k1": [1.5, AB]}}), json.dumps({"sign": "k1", "keys": {"k1": AB}, AB: AB}),
    json.dumps({"sign": "k1", "keys": {f"k{n}": AB for n in range(1, 9)}}), "[" * 2_000, '{"sign":"k1","keys":{"k1":' + "9" * 3_000 + "}}",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_a_parameter_that_cannot_be_read_is_said_and_replaced_by_its_owner_alone(run: Run, store: KeyStore, text: str) -> None:
    store.create(text)
    for verb in (["list"], ["rotate"], ["revoke", "k1", "--at-once"], ["init"]):
        status, out, err = run(*verb)
        assert (status, out, store.read()) == (1, "", text)
        assert "`sedano keys init --replace`" in err
    assert run("init", "--replace")[0] == 0
    (row,) = rows(run("list", "--json")[1])
    assert (row["state"], f'"{row["key"]}"' in text) == ("signs", False)


def test_times_that_no_clock_showed_yet_are_shown_and_waited_for_no_longer_than_others(run: Run, store: KeyStore, ports: Ports) -> None:
    late = {"k1": [2**36, 2**36], "k2": [2**36, 0]}
    store.create(json.dumps({"sign": "k1", "keys": {"k1": AB, "k2": CD}, "times": late}))
    assert run("list")[0] == 0
    began = ports.clock.now()
    assert run("rotate")[0] == 0
    assert ports.clock.now() - began <= KEPT_S + 1


@pytest.mark.parametrize("arguments", [[], ["show"], ["revoke"], ["rotate", "--no-wait", "--at-once"], ["list", "k1"]])
def test_what_is_asked_wrongly_ends_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["keys", *arguments]) == 2
    assert "Usage: sedano keys" in capsys.readouterr().err
