"""The stream: records of the application's DynamoDB and Kinesis streams in; each becomes a call of the tasks that read its stream."""

from sedano.host.functions import stream

handler = stream()
