"""The ports over AWS: DynamoDB, SQS, S3, CloudWatch. They decide the cost of a call, its refusals, and the meaning of its errors.
"""
