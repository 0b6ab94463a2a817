"""The stream: turns each record of the application's DynamoDB and Kinesis streams into calls of the tasks that read its stream."""

from sedano.host.functions import stream

handler = stream()
