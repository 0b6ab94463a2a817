"""The only public address of a stage: a function URL, at which each sender is identified by its signature.

AWS identifies no caller there (`AuthType: NONE`), because no sender of webhooks can sign as AWS requires. Only this one function can be
called, and only this way.
"""

from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from .function import Function


class WebhookUrl(Construct):
    """A public address, in front of a function that verifies signatures."""

    def __init__(self, scope: Construct, name: str, *, function: Function) -> None:
        super().__init__(scope, name)
        made = function.target.add_function_url(auth_type=lambda_.FunctionUrlAuthType.NONE)
        #: The URL to which senders post; the webhook's name follows it.
        self.url = made.url
