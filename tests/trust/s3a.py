"""What Spark asks of S3, without Spark: the calls that Hadoop's S3A connector and its committer make to read and to write a table.

A file is looked at (HEAD) before it is read. What a task writes is uploaded in parts and made visible when the job commits: until then a
note of it lies below `__magic`, which goes when the job has ended. An attempt that came too late is aborted. (Hadoop, "Committing work to
S3 with the S3A Committers".) The role may not list uploads, which the committer does to clean up after others: it goes on without
(HADOOP-17547), and what a dead run left is aborted by the bucket's own rule after a day.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple


class Upload(NamedTuple):
    """One file on its way."""

    key: str
    id: str
    parts: list[dict[str, Any]]

    @property
    def named(self) -> dict[str, str]:
        """How S3 is told which one."""
        return {"Key": self.key, "UploadId": self.id}


class S3A:
    """One bucket, as Spark's driver and executors ask for it."""

    def __init__(self, client: Any, bucket: str) -> None:
        self._client, self._bucket = client, {"Bucket": bucket}

    def read(self, addresses: Iterable[str]) -> Iterator[bytes]:
        """Read these files, each by its address or its folder's; of a folder those that are no marks of Spark's own."""
        for address in addresses:
            key = self._key(address)
            for one in self._below(key) if key.endswith("/") else [key]:
                if not one.rpartition("/")[2].startswith("_") and self._client.head_object(**self._bucket, Key=one)["ContentLength"]:
                    yield self._client.get_object(**self._bucket, Key=one, Range="bytes=0-")["Body"].read()

    def write(self, folder: str, body: bytes) -> None:
        """Write a table of one file into a folder where nothing is, with an attempt that comes too late."""
        key = self._key(folder)
        assert not self._below(key)
        late, upload = self._upload(f"{key}part-0", body), self._upload(f"{key}part-0", body)
        self._client.abort_multipart_upload(**self._bucket, **late.named)
        pending = f"{key}__magic/job/part-0.pending"
        self._client.put_object(**self._bucket, Key=pending, Body=json.dumps(upload._asdict()))
        (noted,) = self.read([f"s3://{self._bucket['Bucket']}/{key}__magic/"])
        told = Upload(**json.loads(noted))
        self._client.complete_multipart_upload(**self._bucket, **told.named, MultipartUpload={"Parts": told.parts})
        self._client.delete_object(**self._bucket, Key=pending)
        self._client.put_object(**self._bucket, Key=f"{key}_SUCCESS", Body=b"")

    def _upload(self, key: str, body: bytes) -> Upload:
        begun = self._client.create_multipart_upload(**self._bucket, Key=key)["UploadId"]
        done = self._client.upload_part(**self._bucket, Key=key, UploadId=begun, PartNumber=1, Body=body)
        return Upload(key, begun, [{"ETag": done["ETag"], "PartNumber": 1}])

    def _below(self, prefix: str) -> list[str]:
        found = self._client.list_objects_v2(**self._bucket, Prefix=prefix).get("Contents", [])
        return [entry["Key"] for entry in found]

    def _key(self, address: str) -> str:
        return address.removeprefix(f"s3://{self._bucket['Bucket']}/")
