"""A budget: the people to notify when a stage costs more in a month than planned, or is about to."""

from aws_cdk import aws_budgets as budgets
from constructs import Construct

#: The percentages of the budget at which a notification is sent, of the actual and of the forecast cost.
TOLD_AT = (("ACTUAL", 100), ("FORECASTED", 100))


class Budget(Construct):
    """A monthly budget for everything with the stage's tag; the account must have that tag as a cost allocation tag."""

    def __init__(self, scope: Construct, name: str, *, stage: str, dollars: float, topic: str) -> None:
        """`topic`: the ARN of the SNS topic; its policy must let `budgets.amazonaws.com` publish."""
        super().__init__(scope, name)
        budget = budgets.CfnBudget
        told = budget.SubscriberProperty(address=topic, subscription_type="SNS")
        budget(
            self,
            "Budget",
            budget=budget.BudgetDataProperty(
                budget_type="COST",
                time_unit="MONTHLY",
                budget_limit=budget.SpendProperty(amount=dollars, unit="USD"),
                cost_filters={"TagKeyValue": [f"user:sedano:stage${stage}"]},
            ),
            notifications_with_subscribers=[
                budget.NotificationWithSubscribersProperty(
                    notification=budget.NotificationProperty(
                        comparison_operator="GREATER_THAN", notification_type=kind, threshold=percent, threshold_type="PERCENTAGE"
                    ),
                    subscribers=[told],
                )
                for kind, percent in TOLD_AT
            ],
        )
