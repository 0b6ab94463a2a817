"""A stage whose tables, buckets and queues a key of its own encrypts works as any, each function under its own role.

The endpoint keeps which key encrypts a queue, of tables and buckets it does not even that, and it judges nobody's use of a key. So what the
key's policy says, and that all is encrypted with it, stands in the template alone: `tests/infra/test_own_key.py`.
"""

import os
import subprocess
import sys
from pathlib import Path

from sedano.local import local_stage
from sedano.local.synthesis import ROOT
from tests.strict_aws.child import Strict

APP = """
from sedano import Sedano

app = Sedano("keyed")


@app.task
def twice(text: str) -> str:
    return text * 2
"""
CLIENT = "from keyed import twice; print([len(twice.delay('a' * long).get(timeout=60)) for long in (2, 300_000)])"


def test_a_stage_with_a_key_of_its_own_works(tmp_path: Path, strict_child: Strict) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "keyed.py").write_text(APP)
    asked = {"production": "true", "own_key": "true", "timeout": "20"}
    with local_stage(app="keyed:app", code=code, directory=tmp_path, enforce_iam=True, **asked) as stage:
        path = os.pathsep.join([str(ROOT / "layers" / "sedano" / "python"), str(code)])
        environment = strict_child({**os.environ, **stage.environment, "PYTHONPATH": path})
        done = subprocess.run([sys.executable, "-c", CLIENT], env=environment, capture_output=True, text=True, check=False)
        assert done.stdout == "[4, 600000]\n", f"{done.stderr}\n{stage.endpoint.last_lines()}"
        session = stage.endpoint.session()
        ((key,),) = [[one["KeyArn"] for one in session.client("kms", endpoint_url=stage.endpoint.url).list_keys()["Keys"]]]
        s3, sqs = (session.client(name, endpoint_url=stage.endpoint.url) for name in ("s3", "sqs"))
        bucket = stage.environment["SEDANO_BLOBS_BUCKET"]
        assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 2, "the argument and the result"
        queues = [sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["KmsMasterKeyId"]) for url in sqs.list_queues()["QueueUrls"]]
        assert {queue["Attributes"]["KmsMasterKeyId"] for queue in queues} == {key}
