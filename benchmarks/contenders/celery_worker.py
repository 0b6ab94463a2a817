"""The worker of Celery over SQS, with ten tasks at once, for `benchmarks.worker_peers`; `--body` prints one message."""

from __future__ import annotations

import os

import boto3
from celery import Celery  # type: ignore[import-untyped] # it ships no types

from benchmarks.contenders.peer_workers import AT_ONCE, QUEUE, Peer, serve_peer


def celery() -> Peer:
    """Return Celery with a pool of threads."""

    url = os.environ["AWS_ENDPOINT_URL"]
    app = Celery("bench", broker=f"sqs://bench:bench@{url.removeprefix('http://')}", set_as_current=False)
    app.conf.update(
        task_default_queue=QUEUE, worker_enable_remote_control=False, task_ignore_result=True,
        broker_transport_options={
            "region": "us-east-1", "is_secure": False,
            "predefined_queues": {QUEUE: {"url": os.environ["BENCH_QUEUE"], "access_key_id": "bench", "secret_access_key": "bench"}},
        },
    )  # fmt: skip

    @app.task(name="bench.plain")  # type: ignore[untyped-decorator] # it ships no types
    def plain(a: int, b: int) -> None:
        """Do nothing."""

    def body() -> str:

        plain.apply_async((1, 2))
        queue = boto3.client("sqs")
        found = queue.receive_message(QueueUrl=os.environ["BENCH_QUEUE"], WaitTimeSeconds=5)["Messages"][0]
        queue.delete_message(QueueUrl=os.environ["BENCH_QUEUE"], ReceiptHandle=found["ReceiptHandle"])
        sent: str = found["Body"]
        return sent

    lean = ("--without-gossip", "--without-mingle", "--without-heartbeat")
    return Peer(lambda: app.worker_main(["worker", "--pool", "threads", "-c", str(AT_ONCE), *lean]), body)


if __name__ == "__main__":
    serve_peer(celery())
