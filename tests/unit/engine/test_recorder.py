"""The recorder: many records, few objects; what cannot be kept comes back; what a million events cost."""

import json
from collections import Counter
from dataclasses import replace

from sedano import memory
from sedano.engine.history.recorder import Recorder
from sedano.errors import Unavailable
from sedano.memory.events import MemoryEvents
from sedano.memory.rollups import MemoryRollups
from sedano.model.history.rollups import merged, read, total
from sedano.model.history.run_rows import MICRO, Chronicle, Host
from sedano.ports import RECORDS, Delivery

DAY = 86_400.0
#: Dollars of one call, us-east-1: a send or a receive of a message of up to 64 KB, a PUT, a write of up to 1 KB.
MESSAGE, PUT, WRITE = 0.40e-6, 5.0e-6, 0.625e-6


class Counted(MemoryEvents):
    """A history whose writes are counted and take a quarter of a second; it refuses those of some days."""

    def __init__(self, refused=()):
        super().__init__()
        self.puts, self.refused = 0, set(refused)
        self.clock, self.telemetry = memory.VirtualClock(memory.START), memory.MemoryTelemetry()

    def append(self, day, lines, own=b""):
        self.puts += 1
        self.telemetry.called("s3.PutObject")
        self.clock.advance(0.25)
        if day in self.refused:
            raise Unavailable("s3.PutObject: SlowDown")
        return super().append(day, lines, own)


def invocation(number, tasks, at=memory.START):
    """The packed record of one invocation with so many tasks, each published, received, started and ended."""
    chronicle, now = Chronicle(Host("ip-10-0-0-1.7.0a1b2c3d", 7)), int(at * MICRO)
    for n in range(tasks):
        uuid, times = f"{number}-{n}-5f0c6a4e-93b2-4a1d-8e57", [part for step in range(4) for part in (now + step, now + step)]
        chronicle.rows.append((uuid, "shop.tasks.charge", "default", uuid, None, 0, "client.1", *times, "task-succeeded", None))
    calls = {"dynamodb.UpdateItem": 2 * tasks, "sqs.SendMessageBatch": 1}
    chronicle.line("worker-invocation", now + number, at, messages=tasks, cold=False, calls=calls, duration_ms=41.25, given_back=0)
    return chronicle.pack()


def recorder(events, rollups=None):
    ports = replace(memory.ports(), events=events, rollups=rollups or MemoryRollups(), clock=events.clock, telemetry=events.telemetry)
    return Recorder(ports, Host("recorder", 1, memory_mb=512), {"s3.PutObject": 1})


def delivery(number, at=memory.START, body=None):
    return Delivery(RECORDS, f"m{number}", f"r{number}", body or invocation(number, tasks=10, at=at))


def kept(events):
    return [json.loads(line) for data in events.read() for line in data.splitlines()]


def test_the_records_of_a_batch_become_one_object_a_day():
    events = Counted()
    assert recorder(events).record([delivery(n, memory.START + (n % 2) * DAY) for n in range(20)], memory.START + 60) == []
    assert events.puts == 2
    assert len({event["uuid"] for event in kept(events) if event["type"] == "task-succeeded"}) == 200


def test_a_batch_that_comes_again_is_kept_once():
    events = Counted()
    for _ in range(2):
        recorder(events).record([delivery(n) for n in range(5)], memory.START + 60)
    assert len(list(events.read())) == 1, "the second try was at another time, and adds nothing"
    assert max(Counter(json.dumps(event, sort_keys=True) for event in kept(events)).values()) == 1


def own(events):
    """What the recorder told of itself: messages, calls, milliseconds."""
    told = sorted((event for event in kept(events) if event["type"] == "recorder-invocation"), key=lambda event: event["clock"])
    return [(event["messages"], event["calls"], event["duration_ms"]) for event in told]


def test_the_recorder_tells_of_itself_in_what_it_writes_anyway_and_the_rest_in_the_next():
    events = Counted()
    writer = recorder(events)
    writer.record([delivery(n, memory.START + (n % 2) * DAY) for n in range(4)], memory.START + 60)
    writer.record([delivery(4)], memory.START + 60)
    assert events.puts == 3, "telling costs no call"
    assert own(events) == [(4, {"s3.PutObject": 2}, 250.0), (1, {"s3.PutObject": 1}, 250.0)]
    (first, _) = sorted((e for e in kept(events) if e["type"] == "recorder-invocation"), key=lambda event: event["clock"])
    assert (first["hostname"], first["pid"], first["memory_mb"], first["cold"]) == ("recorder", 1, 512, True)


def test_what_an_invocation_took_whose_line_could_not_be_kept_is_told_by_the_next():
    events = Counted(refused={"2026-01-01"})
    writer = recorder(events)
    assert writer.record([delivery(1)], memory.START + 60) != []
    assert writer.record([delivery(2, body="{")], memory.START + 60) == [], "nothing to write"
    events.refused.clear()
    assert writer.record([delivery(1)], memory.START + 60) == []
    assert own(events) == [(3, {"s3.PutObject": 2}, 250.0)]
    assert [line["invocations"] for line in kept(events) if line["type"] == "recorder-invocation"] == [3]


def test_only_the_records_of_a_day_that_was_not_written_come_back():
    events = Counted(refused={"2026-01-02"})
    deliveries = [delivery(n, memory.START + (n % 2) * DAY) for n in range(6)]
    assert recorder(events).record(deliveries, memory.START + 60) == deliveries[1::2]
    assert {event["uuid"].split("-")[0] for event in kept(events) if "uuid" in event} == {"0", "2", "4"}


def test_a_record_that_is_none_does_not_keep_its_neighbours_back():
    events = Counted()
    assert recorder(events).record([delivery(1), delivery(2, body="not JSON"), delivery(3)], memory.START + 60) == []
    assert {event["uuid"].split("-")[0] for event in kept(events) if "uuid" in event} == {"1", "3"}


class Refusing(MemoryRollups):
    """A store of roll-ups that refuses the first ones."""

    def __init__(self, refused):
        super().__init__()
        self.refused = refused

    def put(self, rollup):
        self.refused -= 1
        if self.refused >= 0:
            raise Unavailable("dynamodb.PutItem: throttled")
        super().put(rollup)


def sums(rollups):
    """What all roll-ups say together."""
    return merged(read(one.text) for one in rollups.read(0, 10**9))


def test_an_object_has_one_roll_up_with_the_ends_of_its_runs_however_often_it_is_recorded():
    events, rollups = Counted(), MemoryRollups()
    for _ in range(3):
        assert recorder(events, rollups).record([delivery(n, memory.START + (n % 2) * DAY) for n in range(20)], memory.START + 60) == []
    assert len(rollups.read(0, 10**9)) == len(list(events.read())) == 2
    found = sums(rollups)
    assert total(found.runs.values()).ended == {"SUCCESS": 200}
    assert {place.task for place in found.runs} == {"shop.tasks.charge"}
    assert {function for function, _ in found.spent} == {"worker", "recorder"}, "the recorder's own report is among them"
    assert found.again == 0


def test_records_whose_sums_are_not_kept_are_delivered_again_and_count_once():
    events, rollups = Counted(), Refusing(1)
    deliveries = [delivery(n) for n in range(4)]
    assert recorder(events, rollups).record(deliveries, memory.START + 60) == deliveries
    again = [one._replace(receives=2) for one in deliveries]
    assert recorder(events, rollups).record([*again, delivery(9)], memory.START + 60) == []
    found = sums(rollups)
    assert total(found.runs.values()).number == 50
    assert found.again == 40, "so many may be in an earlier object as well"


def test_a_forged_line_does_not_keep_an_object_and_its_sums_from_being_written():
    events, rollups = Counted(), MemoryRollups()
    lines = [{"type": ["x"], "uuid": {}, "timestamp": memory.START, "clock": []}, {"type": "task-failed", "timestamp": memory.START}]
    body = json.dumps({"v": 1, "host": "h", "pid": 1, "rows": [], "lines": lines})
    assert recorder(events, rollups).record([delivery(1), delivery(2, body=body)], memory.START + 60) == []
    assert total(sums(rollups).runs.values()).ended == {"SUCCESS": 10, "FAILURE": 1}


def test_a_roll_up_of_a_hundred_invocations_is_below_a_kilobyte():
    rollups = MemoryRollups()
    recorder(Counted(), rollups).record([delivery(n) for n in range(100)], memory.START + 60)
    (one,) = rollups.read(0, 10**9)
    print(f"{len(one.text)} B for {total(sums(rollups).runs.values()).number} runs")
    assert len(one.text) + 2 * len(one.name) + 100 <= 1_024


def test_a_million_events_cost_at_most_two_cents_on_their_way_to_the_history():
    events, rollups = Counted(), MemoryRollups()
    batch = [delivery(n) for n in range(100)]
    recorder(events, rollups).record(batch, memory.START + 60)
    told = len(kept(events))
    sends = sum(-(-len(one.body.encode()) // 65_536) for one in batch)
    dollars = sends * MESSAGE + 2 * len(batch) / 10 * MESSAGE + events.puts * PUT
    dollars += 2 * len(rollups.read(0, 10**9)) * WRITE  # in the table and in its index
    print(f"${dollars / told * 1e6:.4f} per million events: {told} events, {sends} sends, {events.puts} PUTs")
    assert dollars / told * 1e6 <= 0.02


def test_a_record_that_no_rule_foresaw_costs_no_other_one():
    events = Counted()
    step = recorder(events)
    odd = delivery(1)._replace(body=5)
    assert step.record([delivery(0), odd, delivery(2)], memory.START + 60) == [odd]
    assert len({line["uuid"] for line in kept(events) if "uuid" in line}) == 20
    assert [line.fields["reason"] for line in events.telemetry.lines if line.level == "error"] == ["unexpected"]
