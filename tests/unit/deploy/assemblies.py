"""Cloud assemblies of a few topics, written as the CDK writes them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

BUCKET = "cdk-hnb659fds-assets-${AWS::AccountId}-${AWS::Region}"
ROLE = "arn:${AWS::Partition}:iam::${AWS::AccountId}:role/cdk-hnb659fds-%s-role-${AWS::AccountId}-${AWS::Region}"


def template(*topics: str) -> dict[str, Any]:
    """A template with a topic of each name."""
    resources = {name: {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": name}} for name in topics}
    return {"Resources": resources}


def write(
    folder: Path, stacks: Mapping[str, dict[str, Any]], needs: Mapping[str, list[str]] | None = None, **properties: Any
) -> Path:
    """Write an assembly with these stacks by name, and the stacks that each of them needs."""
    folder.mkdir(parents=True, exist_ok=True)
    artifacts: dict[str, Any] = {}
    for name, body in stacks.items():
        file = f"{name}.template.json"
        (folder / file).write_text(json.dumps(body))
        key = f"{hash(json.dumps(body)) & 0xFFFFFFFF:08x}.json"
        place = {"bucketName": BUCKET, "objectKey": key, "assumeRoleArn": ROLE % "file-publishing"}
        files = {"template": {"source": {"path": file, "packaging": "file"}, "destinations": {"current": place}}}
        (folder / f"{name}.assets.json").write_text(json.dumps({"files": files}))
        artifacts[name] = {
            "type": "aws:cloudformation:stack",
            "dependencies": (needs or {}).get(name, []),
            "properties": {
                "templateFile": file, "stackTemplateAssetObjectUrl": f"s3://{BUCKET}/{key}", "assumeRoleArn": ROLE % "deploy",
                "cloudFormationExecutionRoleArn": ROLE % "cfn-exec", "requiresBootstrapStackVersion": 6, **properties,
            },
        }  # fmt: skip
    artifacts["Tree"] = {"type": "cdk:tree", "properties": {"file": "tree.json"}}
    (folder / "manifest.json").write_text(json.dumps({"version": "55.0.0", "artifacts": artifacts}))
    return folder
