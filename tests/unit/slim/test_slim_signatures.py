"""The slim client's signatures are botocore's, for any credentials, Region, service, headers, body and day.

`make test` compares a few thousand; SEDANO_SIGNATURES=100000 compares that many.
"""

import datetime as dt
import os
import random
import string

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from sedano.aws.client.slim.signature import Identity, SlimSigner

REQUESTS = int(os.environ.get("SEDANO_SIGNATURES", "4000"))
SECRETS = string.ascii_letters + string.digits + "/+="
TEXTS = 'aé€😀"\\\n\t x\x00\ud7ff'
CALLS = {"dynamodb": "DynamoDB_20120810.", "sqs": "AmazonSQS."}


class Fixed(SigV4Auth):
    """botocore's own signature at a given moment: it takes the time of the machine, and everything else from the request."""

    def add_auth(self, request: AWSRequest) -> None:
        """Sign *request* at the moment in its context."""
        self._modify_request_before_signing(request)
        text = self.string_to_sign(request, self.canonical_request(request))
        self._inject_signature_to_request(request, self.signature(text, request))


def botocores(identity: Identity, region: str, service: str, headers: list[tuple[str, str]], body: bytes, date: str) -> str:
    """Return botocore's Authorization header."""
    host = dict(headers)["host"]
    request = AWSRequest("POST", f"https://{host}/", headers=dict(headers), data=body)
    request.context["timestamp"] = date
    signer = Fixed(Credentials(identity.access_key, identity.secret_key, identity.token or None), service, region)
    signer.add_auth(request)
    return str(request.headers["Authorization"])


def drawn(random_: random.Random) -> tuple[Identity, str, str, list[tuple[str, str]], bytes, str]:
    """Return a random request."""
    token = "".join(random_.choices(SECRETS, k=random_.randrange(40, 900))) if random_.random() < 0.5 else ""
    access_key = "AKIA" + "".join(random_.choices(string.ascii_uppercase, k=16))
    identity = Identity(access_key, "".join(random_.choices(SECRETS, k=40)), token)
    service = random_.choice(list(CALLS))
    region = random_.choice(["eu-west-1", "us-gov-east-1", "cn-north-1", "ap-southeast-7"])
    moment = dt.datetime.fromtimestamp(random_.randrange(1_600_000_000, 4_000_000_000), dt.UTC)
    date = moment.strftime("%Y%m%dT%H%M%SZ")
    host = random_.choice([f"{service}.{region}.amazonaws.com", "127.0.0.1:4566", f"123456789012.ddb.{region}.api.aws"])
    headers = {"content-type": "application/x-amz-json-1.0", "host": host, "x-amz-date": date}
    headers["x-amz-target"] = CALLS[service] + "".join(random_.choices(string.ascii_letters, k=12))
    if token:
        headers["x-amz-security-token"] = token
    if service == "sqs":
        headers["x-amzn-query-mode"] = "true"
    return identity, region, service, sorted(headers.items()), "".join(random_.choices(TEXTS, k=random_.randrange(90))).encode(), date


def test_each_signature_is_the_one_of_botocore() -> None:
    random_, signers = random.Random(20_260_101), dict[tuple[str, str], SlimSigner]()
    for number in range(REQUESTS):
        identity, region, service, headers, body, date = drawn(random_)
        signer = signers.setdefault((region, service), SlimSigner(region, service))
        expected = botocores(identity, region, service, headers, body, date)
        assert signer.authorization(identity, headers, body, date) == expected, f"request {number}"
        # A second one on the same day with the kept key, and one of other credentials on the same day.
        assert signer.authorization(identity, headers, body, date) == expected, f"request {number}, again"


def test_the_key_of_a_day_serves_neither_the_next_day_nor_another_secret() -> None:
    signer, one = SlimSigner("eu-west-1", "sqs"), Identity("AKIA", "one")
    for identity, day in ((one, "20260101"), (one, "20260102"), (Identity("AKIA", "two"), "20260102"), (one, "20260102")):
        headers, date = [("host", "sqs.eu-west-1.amazonaws.com"), ("x-amz-date", f"{day}T000000Z")], f"{day}T000000Z"
        assert signer.authorization(identity, headers, b"{}", date) == botocores(identity, "eu-west-1", "sqs", headers, b"{}", date)
