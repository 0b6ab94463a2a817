"""The link from a task to its log lines: the console's own form, the task's time, and no text that could lead elsewhere."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.model.history.attempts import Attempt
from sedano.views.reader import About
from sedano.views.reads import Reads
from sedano.views.task import TaskView
from sedano.web.log_links import AROUND_S, LONGEST_S, LogPlace, logs_of, place_of
from sedano.web.markup import outside
from tests.stories.shopfront import NASTY, Elements

PLACE = LogPlace("eu-central-1", "sedano-prod-core-WorkerLogs0A-b_1/x")
AT = 1_767_225_600.0


def view(task_id: str = "a85d2c19", *attempts: Attempt) -> TaskView:
    """A task with these attempts, or with one that ran for 5 s."""
    one = Attempt(number=0, worker="w", state="FAILURE", sent=AT - 1, received=AT, started=AT + 1, ended=AT + 6)
    about = About(AT, "live", Reads({}, 0.0, 0.0))
    return TaskView(
        id=task_id, name="x", state="FAILURE", sentence="", evidence={}, record=None, frames=(), attempts=attempts or (one,), root="",
        parent="", children=(), since="", redacted=False, about=about,
    )  # fmt: skip


def read(link: str) -> dict[str, str]:
    """The values of an address, as the console reads them."""
    place = r"https://[\w.-]+/cloudwatch/home\?region=[\w-]+#logsV2:logs-insights"
    found = re.fullmatch(rf"{place}\$3FqueryDetail\$3D~\((.*)~source~\(~'(.*)\)\)", link)
    assert found is not None, link
    pairs = dict(one.split("~'", 1) for one in re.split(r"~(?=[a-zA-Z]+~')", found[1]))
    decoded = {name: bytes(text, "ascii") for name, text in {**pairs, "source": found[2]}.items()}
    plain = lambda text: re.sub(rb"\*([0-9a-f]{2})", lambda one: bytes([int(one[1], 16)]), text).decode()  # noqa: E731
    return {name: plain(text) for name, text in decoded.items()}


def test_a_task_leads_to_the_lines_of_its_worker_around_its_time() -> None:
    link = logs_of(view(), PLACE)
    assert link.startswith("https://eu-central-1.console.aws.amazon.com/cloudwatch/home?region=eu-central-1#logsV2:logs-insights$3F")
    said = read(link)
    assert (said["start"], said["end"]) == ("2025-12-31T23:59:00.000Z", "2026-01-01T00:01:05.000Z")
    assert (said["timeType"], said["tz"], said["source"]) == ("ABSOLUTE", "UTC", PLACE.group)
    assert '| filter @message like "a85d2c19" |' in said["editorString"]
    assert Elements(outside("Log lines", link)).found == [("a", {"href": link, "rel": "noopener noreferrer", "target": "_blank"})]


def test_the_time_covers_all_attempts_and_one_without_an_end_as_long_as_a_function_runs() -> None:
    first = Attempt(number=0, worker="w", state="RETRY", received=AT, started=AT, ended=AT + 1)
    second = Attempt(number=1, worker="w", state="STARTED", received=AT + 3_600, started=AT + 3_600)
    said = read(logs_of(view("t", first, second), PLACE))
    assert (AROUND_S, LONGEST_S) == (60.0, 900.0)
    assert (said["start"], said["end"]) == ("2025-12-31T23:59:00.000Z", "2026-01-01T01:16:00.000Z")
    assert logs_of(view("t", Attempt(number=0, worker="", state="PENDING")), PLACE) == "", "no time is known"


@pytest.mark.parametrize("task_id", ['a" | delete', "a\\", "a b", NASTY, "", "é"])
def test_an_id_that_is_not_plain_text_of_a_query_has_no_link(task_id: str) -> None:
    assert logs_of(view(task_id), PLACE) == ""


@pytest.mark.parametrize("region", ["", "us-gov-west-1", "cn-north-1.evil.example", "eu-central-1/x", "x"])
def test_another_region_than_one_of_aws_has_no_link(region: str) -> None:
    assert logs_of(view(), PLACE._replace(region=region)) == ""


@given(st.from_regex(r"[A-Za-z0-9_.:/-]{1,60}", fullmatch=True), st.text(max_size=40))
def test_every_id_and_group_is_read_as_it_was_written(task_id: str, group: str) -> None:
    link = logs_of(view(task_id), PLACE._replace(group=group))
    if not group:
        assert link == ""
        return
    outside("x", link)
    said = read(link)
    assert f'like "{task_id}"' in said["editorString"]
    assert said["source"] == group


EVIL = "https://x.console.aws.amazon.com.evil.example/cloudwatch/home?region=x#"


@pytest.mark.parametrize("there", ["https://example.org/", EVIL, "javascript:alert(1)", "/tasks"])
def test_no_other_address_leads_out_of_the_pages(there: str) -> None:
    with pytest.raises(ValueError, match="is not an address of the CloudWatch console"):
        outside("x", there)


STAGE: dict[str, Any] = {"SEDANO_WORKER_LOGS": "group", "AWS_REGION": "eu-west-1"}


def test_the_place_is_that_of_the_stage_and_none_on_an_endpoint_of_this_machine() -> None:
    assert place_of(STAGE, None) == LogPlace("eu-west-1", "group")
    assert place_of(STAGE, "eu-central-1") == LogPlace("eu-central-1", "group")
    assert place_of({**STAGE, "AWS_ENDPOINT_URL": "http://127.0.0.1:4566"}, None) is None
    assert place_of({**STAGE, "AWS_ENDPOINT_URL_SQS": "http://127.0.0.1:4566"}, None) is None
    assert place_of({"AWS_REGION": "eu-west-1"}, None) is None
