"""Runs of workflows: begun once, changed by compare-and-swap, listed the latest first."""

from sedano.aws.client import keys
from sedano.errors import Unavailable
from sedano.model.messages.message import BlobRef
from sedano.model.workflow.flow_run import FAILING, FlowChanged, FlowRun
from tests.conformance.worlds import World, over_aws
from tests.plugins.resources import Resources

NOW = 1_767_225_600.125
RUN = FlowRun(
    "r#1 ä", "fulfil", "3", BlobRef("ab" * 32, 812), NOW, '{"order":"ä"}', nonce="n1", tenant="acme", stamps="a=b", hops=2, budget=77
)
CHANGED = RUN._replace(
    state=FAILING, cause="step a: ö", rounds={"a": 1}, whole={"b": 2}, given_up={"t#1": "too large"}, inputs=None,
    undoing={"b": 1, "c": -1}, uncompensated={"b": "Poison: ö"}, inputs_ref=BlobRef("cd" * 32, 5), ended=NOW + 1, revision=1, nonce="n2",
)  # fmt: skip


def test_a_run_is_read_back(world: World) -> None:
    assert world.flow_runs.read(RUN.run_id) is None
    assert world.flow_runs.begin(RUN, NOW) == FlowChanged(True, RUN)
    assert world.flow_runs.read(RUN.run_id) == RUN


def test_a_run_begins_once_and_the_second_gets_the_first(world: World) -> None:
    world.flow_runs.begin(RUN, NOW)
    assert world.flow_runs.begin(CHANGED, NOW) == FlowChanged(False, RUN)
    assert world.flow_runs.begin(RUN, NOW) == FlowChanged(True, RUN)


def test_a_change_is_read_back_whole(world: World) -> None:
    world.flow_runs.begin(RUN, NOW)
    assert world.flow_runs.change(CHANGED, RUN, NOW) == FlowChanged(True, CHANGED)
    assert world.flow_runs.read(RUN.run_id) == CHANGED


def test_the_item_of_a_run_shows_its_state_to_an_operator_who_reads_the_table(resources: Resources) -> None:
    runs, dynamodb = over_aws(resources).flow_runs, resources.session.client("dynamodb")
    key = {"TableName": resources.settings["SEDANO_CONTROL_TABLE"], "Key": {"pk": {"S": keys.flow_run(RUN.run_id)}}}
    runs.begin(RUN, NOW)
    assert dynamodb.get_item(**key)["Item"]["st"] == {"S": RUN.state}
    runs.change(CHANGED, RUN, NOW)
    assert dynamodb.get_item(**key)["Item"]["st"] == {"S": FAILING}


def test_a_change_of_what_is_not_there_any_more_is_refused_and_gets_what_is(world: World) -> None:
    assert world.flow_runs.change(CHANGED, RUN, NOW) == FlowChanged(False, None)
    world.flow_runs.begin(RUN, NOW)
    world.flow_runs.change(CHANGED, RUN, NOW)
    assert world.flow_runs.change(RUN._replace(nonce="n3"), RUN, NOW) == FlowChanged(False, CHANGED)
    assert world.flow_runs.read(RUN.run_id) == CHANGED


def test_a_write_whose_answer_was_lost_is_recognised_as_ones_own(world: World) -> None:
    def twice(write: str) -> FlowChanged:
        for attempt in range(2):
            try:
                if attempt == 0:
                    with world.losing("UpdateItem"):
                        made(write)
                else:
                    return made(write)
            except Unavailable:
                assert not world.is_local
        raise AssertionError("not answered")

    def made(write: str) -> FlowChanged:
        return world.flow_runs.begin(RUN, NOW) if write == "begin" else world.flow_runs.change(CHANGED, RUN, NOW)

    assert twice("begin") == FlowChanged(True, RUN)
    assert twice("change") == FlowChanged(True, CHANGED)


def test_runs_are_listed_by_workflow_the_latest_first(world: World) -> None:
    assert world.flow_runs.list() == []
    others = [RUN._replace(run_id=f"r{n}", started=NOW + n % 2, workflow="w" if n < 3 else "v") for n in range(4)]
    for run in others:
        world.flow_runs.begin(run, NOW)
    assert [run.run_id for run in world.flow_runs.list()] == ["r1", "r3", "r0", "r2"]
    assert [run.run_id for run in world.flow_runs.list("w")] == ["r1", "r0", "r2"]
    assert world.flow_runs.list("none") == []
