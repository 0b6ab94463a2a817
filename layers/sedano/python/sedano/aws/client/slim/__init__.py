"""A slim AWS client for the calls that each task makes: DynamoDB and SQS over their JSON protocols, at a fraction of botocore's CPU.

It wraps a botocore client and makes a call itself only if it knows everything about it. Any other call, and each call of a client whose
events are observed, goes to botocore. The form of its requests is learned from botocore: the endpoint, the headers and the names of the
signed headers are those of a request that botocore prepared; and a client is used only if its own signature of that request equals
botocore's. Parameters and answers are checked against botocore's models. Errors are parsed by botocore's parsers, and botocore's own retry
handler decides about each further attempt, so a call is never sent more often than botocore would send it.
"""
