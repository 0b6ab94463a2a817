"""The one address of a stage that is open to the world: a function URL, where each sender is known by his signature.

AWS identifies no caller there (`AuthType: NONE`), because no sender of webhooks can sign as AWS requires. Only this one function can be
called, and only this way.
"""

from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from .function import Function


class WebhookUrl(Construct):
    """An address that anybody may post to, in front of a function that looks at signatures."""

    def __init__(self, scope: Construct, name: str, *, function: Function) -> None:
        super().__init__(scope, name)
        made = function.target.add_function_url(auth_type=lambda_.FunctionUrlAuthType.NONE)
        #: Where senders post to, with the webhook's name behind it.
        self.url = made.url
