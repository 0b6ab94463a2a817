"""A page that the developer visits, a rebound name and another run's credentials reach nothing of a stage on this machine."""

import http.client
import json
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from botocore.auth import S3SigV4Auth, S3SigV4QueryAuth, SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from sedano.local import LocalStage

FOREIGN = "https://shop.example"
CREATE = json.dumps({"QueueName": "planted"}).encode()
FUNCTION = json.dumps({"FunctionName": "planted", "Role": "arn:aws:iam::0:role/r", "Code": {"ZipFile": "UEsFBg=="}}).encode()
TARGET = {"X-Amz-Target": "AmazonSQS.CreateQueue", "Content-Type": "application/x-amz-json-1.0"}
ANOTHER_RUN = Credentials("AKIAABCDEFGHIJKLMNOP", "the secret of another run of a local stage")
OLD = [Credentials("test", "test"), Credentials("000000000000", "test"), Credentials("AKIAIOSFODNN7EXAMPLE", "test")]


@dataclass(frozen=True)
class Hostile:
    """One request: what it is called, and how it arrives."""

    name: str
    method: str = "POST"
    path: str = "/"
    headers: Mapping[str, str] = field(default_factory=lambda: TARGET)
    body: bytes = CREATE
    host: str | None = None


def signed(stage: LocalStage, by: Credentials, method: str = "POST", path: str = "/", body: bytes = CREATE) -> dict[str, str]:
    """The headers of a request that is signed for the stage's own address."""
    asked = AWSRequest(method, f"{stage.endpoint.url}{path}", data=body, headers=TARGET)
    (S3SigV4Auth if method == "PUT" else SigV4Auth)(by, "s3" if method == "PUT" else "sqs", "us-east-1").add_auth(asked)
    return dict(asked.headers.items())


def of_pages(stage: LocalStage, own: Credentials) -> Iterator[Hostile]:
    """What a page makes a browser send, signed or not."""
    port = stage.endpoint.port
    simple = {"Content-Type": "text/plain", "Origin": FOREIGN}
    functions = "/2015-03-31/functions"
    worker = stage.environment["SEDANO_PARKED_QUEUE"].rsplit("/", 1)[-1]
    yield Hostile("a preflight", "OPTIONS", headers={"Origin": FOREIGN, "Access-Control-Request-Method": "POST"}, body=b"")
    yield Hostile("CreateFunction of a page", path=functions, headers=simple, body=FUNCTION)
    yield Hostile("CreateFunction of a file", path=functions, headers={**simple, "Origin": "null"}, body=FUNCTION)
    yield Hostile("Invoke of a page", path=f"{functions}/{worker}/invocations", headers=simple, body=b"{}")
    yield Hostile(
        "a form", path="/", headers={"Content-Type": "application/x-www-form-urlencoded"}, body=b"Action=CreateQueue&QueueName=planted"
    )
    yield Hostile("an image", "GET", "/?Action=CreateQueue&QueueName=planted", {"Sec-Fetch-Site": "cross-site"}, b"")
    yield Hostile("a page that holds the credentials", headers={**signed(stage, own), "Origin": FOREIGN})
    yield Hostile("a page of another port of this machine", headers={**signed(stage, own), "Origin": f"http://127.0.0.1:{port + 1}"})
    yield Hostile("a page of the stage itself", headers={**signed(stage, own), "Sec-Fetch-Site": "same-origin"})
    yield Hostile("a name that was rebound", host=f"evil.example:{port}")
    yield Hostile("a rebound name, signed", headers=signed(stage, own), host=f"evil.example:{port}")
    yield Hostile("a bucket's name as host", "PUT", "/", {}, b"", f"planted.s3.127.0.0.1:{port}")
    yield Hostile("a function's address as host", host=f"{'a' * 32}.lambda-url.us-east-1.on.aws")
    yield Hostile("another port", host="127.0.0.1:1")
    yield Hostile("a websocket", "GET", "/", {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
                                              "Sec-WebSocket-Key": "MDEyMzQ1Njc4OTAxMjM0NQ=="}, b"")  # fmt: skip


def unsigned(stage: LocalStage, own: Credentials) -> Iterator[Hostile]:
    """What another program of this machine sends without this run's credentials."""
    host = f"http://127.0.0.1:{stage.endpoint.port}"
    yield Hostile("CreateQueue")
    yield Hostile("CreateBucket", "PUT", "/planted", {}, b"")
    yield Hostile("CreateFunction", path="/2015-03-31/functions", headers={}, body=FUNCTION)
    yield Hostile("the emulator's reset", path="/_ministack/reset", headers={}, body=b"")
    yield Hostile("the emulator's settings", path="/_ministack/config", headers={}, body=b"{}")
    yield Hostile("the emulator's messages", "GET", "/_ministack/sqs/messages", {}, b"")
    yield Hostile("a false forwarded host", headers={**TARGET, "X-Forwarded-Host": "127.0.0.1", "X-Forwarded-For": "127.0.0.1"})
    for by in (ANOTHER_RUN, *OLD, Credentials(own.access_key, "test")):
        yield Hostile(f"signed by {by.access_key}", headers=signed(stage, by))
        yield Hostile(f"a bucket, signed by {by.access_key}", "PUT", "/planted", signed(stage, by, "PUT", "/planted", b""), b"")
        query = AWSRequest("POST", f"{host}/?Action=CreateQueue&QueueName=planted")
        SigV4QueryAuth(by, "sqs", "us-east-1", expires=600).add_auth(query)
        yield Hostile(f"presigned by {by.access_key}", path=query.url.removeprefix(host), headers={}, body=b"")
    mine = signed(stage, own)
    yield Hostile("a signature moved to another call", headers={**mine, "X-Amz-Target": "AmazonSQS.PurgeQueue"})
    yield Hostile("a signature moved to another body", headers=mine, body=CREATE + b" ")
    yield Hostile("no signature in the header", headers={**mine, "Authorization": mine["Authorization"].split("Signature=")[0]})
    put = AWSRequest("PUT", f"{host}/planted")
    S3SigV4QueryAuth(own, "s3", "us-east-1", expires=600).add_auth(put)
    yield Hostile("a presigned address of another bucket", "PUT", put.url.removeprefix(host).replace("/planted?", "/planted2?"), {}, b"")


def status(stage: LocalStage, request: Hostile) -> tuple[int, list[str]]:
    """The status of the answer, and its CORS headers."""
    connection = http.client.HTTPConnection("127.0.0.1", stage.endpoint.port, timeout=30)
    headers = {"Host": request.host or f"127.0.0.1:{stage.endpoint.port}", "Content-Length": str(len(request.body))}
    connection.request(
        request.method, request.path, request.body, {**headers, **request.headers, **({"Host": request.host} if request.host else {})}
    )
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status, [name for name, _ in answer.getheaders() if name.lower().startswith("access-control-")]


def inventory(stage: LocalStage) -> dict[str, object]:
    """What the stage consists of."""
    session, url = stage.endpoint.session(), stage.endpoint.url
    client = {name: session.client(name, endpoint_url=url) for name in ("sqs", "s3", "lambda", "dynamodb", "scheduler")}
    pages = client["sqs"].get_paginator("list_queues").paginate(PaginationConfig={"PageSize": 1000})
    return {
        "queues": sorted(url for page in pages for url in page.get("QueueUrls", ())),
        "buckets": sorted(bucket["Name"] for bucket in client["s3"].list_buckets()["Buckets"]),
        "functions": sorted(one["FunctionName"] for one in client["lambda"].list_functions()["Functions"]),
        "tables": sorted(client["dynamodb"].list_tables()["TableNames"]),
        "schedules": sorted(one["Name"] for one in client["scheduler"].list_schedules()["Schedules"]),
    }


def test_no_hostile_request_passes_and_nothing_is_created(ministack: LocalStage) -> None:
    own = Credentials(ministack.environment["AWS_ACCESS_KEY_ID"], ministack.environment["AWS_SECRET_ACCESS_KEY"])
    before = inventory(ministack)
    hostile = [*of_pages(ministack, own), *unsigned(ministack, own)]
    assert len(hostile) >= 35
    passed = {request.name: found for request in hostile if (found := status(ministack, request)) != (403, [])}
    assert passed == {}
    assert inventory(ministack) == before
    harmless = Hostile("the call itself", headers=signed(ministack, own))
    assert status(ministack, harmless) == (200, []), "the same call, signed, is what makes the queue"
    sqs = ministack.endpoint.session().client("sqs", endpoint_url=ministack.endpoint.url)
    assert sqs.get_queue_url(QueueName="planted")["QueueUrl"] not in before["queues"]  # type: ignore[operator] # a list
    sqs.delete_queue(QueueUrl=sqs.get_queue_url(QueueName="planted")["QueueUrl"])


def test_each_run_has_credentials_of_its_own_in_a_file_that_its_owner_alone_reads(ministack: LocalStage) -> None:
    environment = ministack.environment
    assert environment["AWS_ACCESS_KEY_ID"].startswith("AKIA")
    assert len(environment["AWS_SECRET_ACCESS_KEY"]) >= 40
    assert stat.S_IMODE(ministack.file.stat().st_mode) == 0o600
    assert stat.S_IMODE((ministack.file.parent / "tmp").stat().st_mode) == 0o700
    assert environment["AWS_SECRET_ACCESS_KEY"] in ministack.file.read_text()
    assert environment["AWS_SECRET_ACCESS_KEY"] not in ministack.endpoint.log.read_text()
