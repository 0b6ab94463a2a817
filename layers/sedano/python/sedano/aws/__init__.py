"""The ports over AWS: DynamoDB, SQS, S3, CloudWatch. What a call costs, what it refuses, and what its errors mean is
decided here.
"""
