"""When a cause of failures counts as new: it was seen after the last deployment, and would have been seen before it."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sedano import memory
from sedano.engine.deployments import keep, last
from sedano.model.deployments import MOST_TEXT, DeploymentMark, deployment_of, is_new
from sedano.ports.absent import Absent

moments = st.floats(0, 4e9)
deployments = st.builds(DeploymentMark, moments, st.text(max_size=300), st.text(max_size=300))


@given(deployments)
def test_a_deployment_is_read_as_it_was_kept_up_to_its_length(one: DeploymentMark) -> None:
    read = deployment_of(one.text)
    assert read is not None
    assert (read.at, deployment_of(read.text)) == (one.at, read)
    assert one.by[:MOST_TEXT].encode("utf-8", "replace").decode() == read.by


@given(st.text() | st.sampled_from(["[]", "[1]", '["x","",""]', "[1,2,3]", '{"a":1}', "null", "[1,null,null]", '"abc"', '[true,"",""]']))
def test_another_text_is_not_a_deployment(text: str) -> None:
    assert deployment_of(text) is None


@given(moments, moments, moments)
def test_a_cause_is_new_only_if_it_began_after_a_deployment_whose_past_is_known(first: float, at: float, horizon: float) -> None:
    new = is_new(first, DeploymentMark(at), horizon)
    assert not (new and (first < at or at <= horizon))
    assert is_new(max(first, at), DeploymentMark(at), at - 1)
    assert not is_new(first, DeploymentMark(horizon), horizon)


def test_the_stored_deployment_stays_unless_a_later_one_is_kept() -> None:
    ports = memory.ports()
    assert last(ports) is None
    first, same, earlier, later = (DeploymentMark(at, by) for at, by in ((5.0, "a"), (5.0, "b"), (4.0, "c"), (6.0, "d")))
    assert [keep(ports, one) for one in (first, same, earlier)] == [first] * 3
    assert last(ports) == first
    assert [keep(ports, later), last(ports)] == [later, later]


def test_a_stage_that_keeps_no_memos_has_no_last_deployment() -> None:
    absent: Any = Absent("memos")
    assert last(replace(memory.ports(), memos=absent)) is None
