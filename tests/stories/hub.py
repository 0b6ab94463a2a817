"""An app that GitHub tells of a repository, as somebody would write it who has read GitHub's page: what it takes of each kind of event."""

from datetime import datetime
from typing import Any

from sedano import DomainEvent, Sedano
from sedano.webhooks import WebhookRequest, hmac_sha256

app = Sedano("hub")
heard: list[tuple[str, dict[str, Any]]] = []


@app.event
class IssueOpened(DomainEvent):
    """Somebody opened an issue."""

    number: int
    title: str
    labels: list[str]
    at: datetime


@app.event
class PullRequestClosed(DomainEvent):
    """A pull request was closed, with or without being merged."""

    number: int
    merged: bool
    body: str | None


@app.event
class Committed(DomainEvent):
    """A commit came to a branch."""

    ref: str
    commit: str


@app.event
class JobEnded(DomainEvent):
    """A job of a workflow ended."""

    job: int
    conclusion: str


@IssueOpened.subscribe
@app.task
def note_issue(number: int, title: str, labels: list[str], at: datetime) -> None:
    """Note it."""
    heard.append(("issue", {"number": number, "title": title, "labels": labels, "at": at.isoformat()}))


@PullRequestClosed.subscribe
@app.task
def note_pull_request(number: int, merged: bool, body: str | None) -> None:
    """Note it."""
    heard.append(("pull request", {"number": number, "merged": merged, "body": body}))


@Committed.subscribe
@app.task
def note_commit(ref: str, commit: str) -> None:
    """Note it."""
    heard.append(("commit", {"ref": ref, "commit": commit}))


@JobEnded.subscribe
@app.task
def note_job(job: int, conclusion: str) -> None:
    """Note it."""
    heard.append(("job", {"job": job, "conclusion": conclusion}))


@app.webhook("github", verify=hmac_sha256(header="X-Hub-Signature-256", prefix="sha256="), delivery="X-GitHub-Delivery")
def told(request: WebhookRequest) -> DomainEvent | list[Committed] | None:
    """What GitHub says, by the kind of event that a header tells."""
    said = request.json()
    match request.header("X-GitHub-Event"), said.get("action"):
        case "issues", "opened":
            issue = said["issue"]
            labels = [label["name"] for label in issue["labels"]]
            return IssueOpened(number=issue["number"], title=issue["title"], labels=labels, at=issue["created_at"])
        case "pull_request", "closed":
            pull = said["pull_request"]
            return PullRequestClosed(number=pull["number"], merged=pull["merged"], body=pull["body"])
        case "push", _:
            return [Committed(ref=said["ref"], commit=commit["id"]) for commit in said["commits"]]
        case "workflow_job", "completed":
            return JobEnded(job=said["workflow_job"]["id"], conclusion=said["workflow_job"]["conclusion"])
    return None
