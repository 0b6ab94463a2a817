"""A plan says in a few lines what a deployment changes, and names each resource whose content would be lost."""

import json

from sedano.deploy.changes import ResourceChange, StackChanges, is_empty, lines, of_change_set, of_templates

QUEUE, FUNCTION = "AWS::SQS::Queue", "AWS::Lambda::Function"


def _said(action: str, kind: str, name: str, **more: str) -> dict[str, object]:
    return {"Type": "Resource", "ResourceChange": {"Action": action, "ResourceType": kind, "LogicalResourceId": name, **more}}


def _template(**resources: dict[str, object]) -> str:
    return json.dumps({"Resources": resources})


def test_a_change_set_is_read_with_what_it_replaces() -> None:
    described = [
        _said("Add", QUEUE, "Mail"), _said("Modify", FUNCTION, "Worker", Replacement="False"), _said("Remove", QUEUE, "Old"),
        _said("Modify", QUEUE, "Slow", Replacement="Conditional"), {"Type": "Hook"},
    ]  # fmt: skip
    assert of_change_set(described) == (
        ResourceChange("add", QUEUE, "Mail"),
        ResourceChange("modify", FUNCTION, "Worker", "False"),
        ResourceChange("remove", QUEUE, "Old"),
        ResourceChange("modify", QUEUE, "Slow", "Conditional"),
    )


def test_two_templates_differ_by_their_resources_alone() -> None:
    other = {"Type": FUNCTION, "Properties": {"a": 1}}
    before = _template(Kept={"Type": QUEUE, "Metadata": {"path": 1}}, Gone={"Type": QUEUE}, Other=other)
    after = _template(
        Kept={"Type": QUEUE, "Metadata": {"path": 2}}, New={"Type": QUEUE}, Other={"Type": FUNCTION, "Properties": {"a": 2}},
        CDKMetadata={"Type": "AWS::CDK::Metadata"},
    )  # fmt: skip
    expected = (ResourceChange("add", QUEUE, "New"), ResourceChange("modify", FUNCTION, "Other"), ResourceChange("remove", QUEUE, "Gone"))
    assert of_templates(before, after) == expected
    assert [change.name for change in of_templates("", before) if change.action == "add"] == ["Kept", "Gone", "Other"]
    assert of_templates(after, after) == ()


def test_a_stack_is_a_line_and_so_is_each_resource_that_takes_its_content_with_it() -> None:
    code = [ResourceChange("modify", FUNCTION, f"F{n}", "False") for n in range(7)]
    version = ResourceChange("add", "AWS::Lambda::Version", "V")
    slow = ResourceChange("modify", QUEUE, "Slow", "True")
    lost = (ResourceChange("remove", QUEUE, "Old"), slow, ResourceChange("remove", FUNCTION, "F9"))
    plan = [StackChanges("sedano-dev-state", ()), StackChanges("sedano-dev-core", (*code, version, *lost))]
    assert list(lines(plan)) == [
        "sedano-dev-state  no change",
        "sedano-dev-core   +1  ~8  -2",
        f"  - {QUEUE} Old",
        f"  ~ {QUEUE} Slow (replaced)",
    ]
    assert len(list(lines(plan, every=True))) == 2 + 11


def test_a_new_stack_and_an_estimate_are_marked() -> None:
    added = (ResourceChange("add", QUEUE, "Q"),)
    plan = [StackChanges("a", added, new=True), StackChanges("b", added, estimated=True)]
    first, second = lines(plan)
    assert first == "a  +1 (new stack)"
    assert second.startswith("b  +1 (estimated from the templates")


def test_only_a_plan_without_any_change_is_empty() -> None:
    assert is_empty([StackChanges("a", ()), StackChanges("b", ())])
    assert not is_empty([StackChanges("a", ()), StackChanges("b", (), new=True)])
    assert not is_empty([StackChanges("a", (ResourceChange("add", QUEUE, "Q"),))])
