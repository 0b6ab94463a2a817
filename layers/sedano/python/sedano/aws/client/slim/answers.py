"""From an HTTP answer to what botocore's parser makes of it."""

from __future__ import annotations

import json
from typing import Any

from botocore.parsers import ResponseParserError, create_parser

from sedano.aws.client.answer_checks import NotAnAnswer
from sedano.aws.client.slim.http_answers import RawAnswer
from sedano.aws.client.slim.request_shapes import checker


class AnswerReader:
    """Reads the answers to one operation, described by botocore's *model*. An answer that is not plain JSON of the model, and each error,
    is parsed by botocore's parser.
    """

    __slots__ = ("_fits", "_model", "_parser")

    def __init__(self, model: Any) -> None:
        """Prepare the check of the answers."""
        self._model, self._fits = model, checker(model.output_shape)
        self._parser: Any = create_parser(model.service_model.resolved_protocol)

    def read(self, http: RawAnswer) -> dict[str, Any]:
        """Return the parsed answer, with its `ResponseMetadata`.

        Raises:
            NotAnAnswer: a successful answer is not JSON.
            ResponseParserError: its JSON is not that of the operation.
        """
        if http.status_code < 300:
            try:
                found = json.loads(http.content.decode())
            except ValueError as error:
                kind = http.headers.get("content-type", "no content type")
                raise NotAnAnswer(status=http.status_code, kind=kind, why="its body is not JSON") from error
            if self._fits(found):
                found["ResponseMetadata"] = _metadata(http)
                whole: dict[str, Any] = found
                return whole
        return self._parsed(http)

    def _parsed(self, http: RawAnswer) -> dict[str, Any]:
        response = {"status_code": http.status_code, "headers": http.headers, "body": http.content, "context": {}}
        try:
            parsed: dict[str, Any] = self._parser.parse(response, self._model.output_shape)
            code = parsed.get("Error", {}).get("Code")
            shape = self._model.service_model.shape_for_error_code(code) if code and http.status_code >= 300 else None
            if shape is not None:
                parsed |= self._parser.parse(response, shape)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ResponseParserError(f"an answer with status {http.status_code} cannot be parsed: {error!r}") from error
        return parsed


def _metadata(http: RawAnswer) -> dict[str, Any]:
    found: dict[str, Any] = {"HTTPStatusCode": http.status_code, "HTTPHeaders": http.headers}
    if "x-amzn-requestid" in http.headers:
        found["RequestId"] = http.headers["x-amzn-requestid"]
    return found
