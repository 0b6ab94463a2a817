"""The ports over AWS: DynamoDB, SQS, S3, CloudWatch. These adapters determine what a call costs, when it is refused, and what its errors
mean.
"""
