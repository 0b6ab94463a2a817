"""Where a stage is, read from variables that have room in a function: names of queues, completed to addresses."""

import json
import re

import pytest

from sedano.aws.settings import command_addresses, from_environment
from sedano.cli.verb_table import VERBS
from sedano.errors import ConfigurationError
from sedano.ports import command_queue

PLACE = "https://sqs.eu-central-1.amazonaws.com/123456789012"
KNOWN = {
    "SEDANO_EVENTS_QUEUE": f"{PLACE}/sedano-prod-core-EventsQueue-1", "SEDANO_RECORDS_QUEUE": "r", "SEDANO_PARKED_QUEUE": "p",
    "SEDANO_LEDGER_TABLE": "l", "SEDANO_CONTROL_TABLE": "c", "SEDANO_BLOBS_BUCKET": "b", "SEDANO_HISTORY_BUCKET": "h",
    "SEDANO_QUEUES": '{"sedano-prod-1a2b3c4d-":["default","orders.fifo"]}',
}  # fmt: skip
ADDRESSES = {name: f"{PLACE}/sedano-prod-1a2b3c4d-{name}" for name in ("default", "orders.fifo")}


def test_names_of_queues_are_completed_by_the_address_of_the_event_queue() -> None:
    assert command_addresses(KNOWN) == ADDRESSES
    queues = from_environment(KNOWN).queues
    assert {name: queues[command_queue(name)] for name in ADDRESSES} == ADDRESSES


@pytest.mark.parametrize("missing", ["SEDANO_LEDGER_TABLE", "SEDANO_QUEUES", "SEDANO_EVENTS_QUEUE"])
def test_a_missing_variable_names_a_verb_that_a_user_of_the_wheel_has(missing: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        from_environment({name: value for name, value in KNOWN.items() if name != missing})
    said = str(raised.value)
    assert said.startswith(f"{missing} is not set; ")
    assert 'eval "$(sedano outputs --stage NAME)"' in said
    assert "make " not in said, "a user of the wheel has no Makefile of ours"
    assert set(re.findall(r"sedano ([a-z]+)", said)) <= {*VERBS}


def test_addresses_are_taken_as_they_are() -> None:
    assert command_addresses({"SEDANO_QUEUES": '{"default": "http://q"}'}) == {"default": "http://q"}


def test_mappings_are_given_by_name_or_in_the_order_of_the_queues() -> None:
    expected = {command_queue("default"): "one", command_queue("orders.fifo"): "two"}
    for given in ('["one","two"]', '{"default":"one","orders.fifo":"two"}'):
        assert from_environment({**KNOWN, "SEDANO_MAPPINGS": given}).mappings == expected
    assert from_environment(KNOWN).mappings == {}


@pytest.mark.parametrize(
    "given", ["[", "[]", "7", '"x"', '{"a-": []}', '{"a-": ["b", 5]}', '{"a-": [""]}', '{"a": 5}', '{"a": ""}', "[" * 9999]
)
def test_a_malformed_variable_of_queues_is_named(given: str) -> None:
    with pytest.raises(
        ConfigurationError, match=r"^SEDANO_QUEUES (must be an object|is not JSON) such as \{\"sedano-dev-\": \[\"default\"\]\}"
    ):
        from_environment({**KNOWN, "SEDANO_QUEUES": given})


@pytest.mark.parametrize("given", ["[", '["one"]', '["one","two","three"]', '["one",""]', "7", '{"default": 5}'])
def test_malformed_mappings_are_named(given: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^SEDANO_MAPPINGS (must|is not JSON)"):
        from_environment({**KNOWN, "SEDANO_MAPPINGS": given})


def test_names_cannot_be_completed_by_what_is_no_address() -> None:
    with pytest.raises(ConfigurationError, match=r"^SEDANO_EVENTS_QUEUE is not a queue's address"):
        command_addresses({**KNOWN, "SEDANO_EVENTS_QUEUE": "events"})


@pytest.mark.parametrize(("text", "on"), [("", False), ("off", False), ("on", True)])
def test_group_commit_is_on_or_off(text: str, on: bool) -> None:
    assert from_environment({**KNOWN, "SEDANO_GROUP_COMMIT": text}).group_commit is on


def test_a_switch_with_another_value_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="SEDANO_GROUP_COMMIT: 'yes' is neither on nor off"):
        from_environment({**KNOWN, "SEDANO_GROUP_COMMIT": "yes"})


def test_sixty_queues_take_less_than_half_of_what_lambda_takes() -> None:
    names = [f"department-{number}-high" for number in range(60)]
    text = json.dumps({"sedano-prod-1a2b3c4d-": names}, separators=(",", ":"))
    assert len(text) < 2048
    assert list(command_addresses({**KNOWN, "SEDANO_QUEUES": text})) == names
