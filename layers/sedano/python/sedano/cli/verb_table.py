"""The table of verbs. An entry is a function: its name is the verb, its docstring the line of help, and it imports the click command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sedano.cli.verb_entries import VERBS, verb

if TYPE_CHECKING:
    from click import Command

__all__ = ["VERBS"]


@verb
def bootstrap() -> Command:
    """Prepare an AWS account and Region for deployments, once."""
    from sedano.cli.verbs.bootstrap import command

    return command


@verb
def broadcast() -> Command:
    """Send a signed command to all workers, or to one."""
    from sedano.cli.verbs.broadcast import command

    return command


@verb
def call() -> Command:
    """Publish a task and print its id, or its result."""
    from sedano.cli.verbs.call import command

    return command


@verb
def changes() -> Command:
    """Show the changes of the stage: who made them, how, and why."""
    from sedano.cli.verbs.changes import command

    return command


@verb
def check() -> Command:
    """Check an app without AWS: tasks, schedules, names, sizes."""
    from sedano.cli.verbs.check import command

    return command


@verb
def circuits() -> Command:
    """Show circuits: open or closed, since when, and the cause."""
    from sedano.cli.verbs.circuits import command

    return command


@verb
def cluster() -> Command:
    """Show the workers and the latest tasks."""
    from sedano.cli.verbs.cluster import command

    return command


@verb
def completion() -> Command:
    """Print the script that completes verbs and options in bash, zsh or fish."""
    from sedano.cli.verbs.completion import command

    return command


@verb
def config() -> Command:
    """Show every setting with its value and its source."""
    from sedano.cli.verbs.config import command

    return command


@verb
def cost() -> Command:
    """Print the cost of a stage, or of the tasks in the history."""
    from sedano.cli.verbs.cost import command

    return command


@verb
def deploy() -> Command:
    """Deploy the app to a stage on AWS."""
    from sedano.cli.verbs.deploy import command

    return command


@verb
def deployed() -> Command:
    """Record a deployment that another tool made."""
    from sedano.cli.verbs.deployed import command

    return command


@verb
def destroy() -> Command:
    """Delete a stage with all its contents."""
    from sedano.cli.verbs.destroy import command

    return command


@verb
def dev() -> Command:
    """Run the app on this machine, and reload it when a file is saved."""
    from sedano.cli.verbs.dev import command

    return command


@verb
def diff() -> Command:
    """Show the changes and the cost of a deployment."""
    from sedano.cli.verbs.diff import command

    return command


@verb
def discover() -> Command:
    """Show what an app declares and what a deployment creates for it."""
    from sedano.cli.verbs.discover import command

    return command


@verb
def doctor() -> Command:
    """Check this machine and a stage: packages, credentials, clock, stacks."""
    from sedano.cli.verbs.doctor import command

    return command


@verb
def explain() -> Command:
    """Explain why a task has not run."""
    from sedano.cli.verbs.explain import command

    return command


@verb
def failures() -> Command:
    """Show failed tasks by task and error."""
    from sedano.cli.verbs.failures import command

    return command


@verb
def history() -> Command:
    """Build tables and a report from the event history, with Spark."""
    from sedano.cli.verbs.history import command

    return command


@verb
def keys() -> Command:
    """List, make, rotate and revoke the keys that mark a stage's messages."""
    from sedano.cli.verbs.keys import command

    return command


@verb
def limit() -> Command:
    """Change how often and how many at a time a task runs."""
    from sedano.cli.verbs.limit import command

    return command


@verb
def list_() -> Command:
    """Show the latest tasks of the event history."""
    from sedano.cli.verbs.list import command

    return command


@verb
def locks() -> Command:
    """Show the holders of locks."""
    from sedano.cli.verbs.locks import command

    return command


@verb
def logs() -> Command:
    """Print or follow the log lines of a stage's functions."""
    from sedano.cli.verbs.logs import command

    return command


@verb
def migrate() -> Command:
    """Show what changes in a code base that uses Celery."""
    from sedano.cli.verbs.migrate import command

    return command


@verb
def new() -> Command:
    """Make a project: an app, its tests, its settings and a file for CI."""
    from sedano.cli.verbs.new import command

    return command


@verb
def outputs() -> Command:
    """Print the variables with which a program finds a stage."""
    from sedano.cli.verbs.outputs import command

    return command


@verb
def parked() -> Command:
    """List parked messages with their reasons; send them again."""
    from sedano.cli.verbs.parked import command

    return command


@verb
def pause() -> Command:
    """Pause a queue, task, tenant, circuit or schedule."""
    from sedano.cli.verbs.pause import command

    return command


@verb
def polls() -> Command:
    """Show the sources that are read at intervals."""
    from sedano.cli.verbs.polls import command

    return command


@verb
def publisher() -> Command:
    """Send the messages of the programs on this host."""
    from sedano.cli.verbs.publisher import command

    return command


@verb
def purge() -> Command:
    """Delete the messages that wait in a queue."""
    from sedano.cli.verbs.purge import command

    return command


@verb
def queues() -> Command:
    """Show the queues: messages that wait and run, paused or not."""
    from sedano.cli.verbs.queues import command

    return command


@verb
def redrive() -> Command:
    """Send parked messages again, by queue or reason."""
    from sedano.cli.verbs.redrive import command

    return command


@verb
def release() -> Command:
    """Release a lock in place of its holder."""
    from sedano.cli.verbs.release import command

    return command


@verb
def report() -> Command:
    """Write a page about the event history, with Spark."""
    from sedano.cli.verbs.report import command

    return command


@verb
def result() -> Command:
    """Print the result of a task."""
    from sedano.cli.verbs.result import command

    return command


@verb
def resume() -> Command:
    """End a pause."""
    from sedano.cli.verbs.resume import command

    return command


@verb
def retry() -> Command:
    """Run parked and failed tasks, and failed workflow runs, again."""
    from sedano.cli.verbs.retry import command

    return command


@verb
def revoke() -> Command:
    """Revoke tasks by id or by header."""
    from sedano.cli.verbs.revoke import command

    return command


@verb
def scale() -> Command:
    """Change how many bodies of a queue run at once, on all hosts together."""
    from sedano.cli.verbs.scale import command

    return command


@verb
def schedules() -> Command:
    """Show periodic tasks and their next moments."""
    from sedano.cli.verbs.schedules import command

    return command


@verb
def show() -> Command:
    """Show the record of a task."""
    from sedano.cli.verbs.show import command

    return command


@verb
def spool() -> Command:
    """List, send and drop the messages that are stored on this machine."""
    from sedano.cli.verbs.spool import command

    return command


@verb
def tail() -> Command:
    """Show the latest events in causal order, and follow them."""
    from sedano.cli.verbs.tail import command

    return command


@verb
def throughput() -> Command:
    """Show what got done in a window: runs, failures, durations, costs."""
    from sedano.cli.verbs.throughput import command

    return command


@verb
def timers() -> Command:
    """List and delete foreign schedules among a stage's timers."""
    from sedano.cli.verbs.timers import command

    return command


@verb
def top() -> Command:
    """Show a stage on the terminal while it changes."""
    from sedano.cli.verbs.top import command

    return command


@verb
def trace() -> Command:
    """Show a canvas as one tree of spans, with the time of each."""
    from sedano.cli.verbs.trace import command

    return command


@verb
def trigger() -> Command:
    """Run a schedule now, in addition to its timetable."""
    from sedano.cli.verbs.trigger import command

    return command


@verb
def version() -> Command:
    """Show the versions of sedano, Python and the AWS client."""
    from sedano.cli.verbs.version import command

    return command


@verb
def web() -> Command:
    """Show a stage as pages in the browser."""
    from sedano.cli.verbs.web import command

    return command


@verb
def worker() -> Command:
    """Run the tasks of the app in a process of your own."""
    from sedano.cli.verbs.worker import command

    return command


@verb
def workers() -> Command:
    """Show what runs where: workers, their queues, versions and state."""
    from sedano.cli.verbs.workers import command

    return command


@verb
def workflow() -> Command:
    """Check, draw and start workflows; list and control their runs."""
    from sedano.cli.verbs.workflow import command

    return command
