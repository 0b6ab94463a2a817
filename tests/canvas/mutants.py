"""Faults planted into the canvas on purpose, each a way in which canvases really go wrong: in Celery, or in a draft of this engine.

A comparison with a meaning that lets one of them pass proves nothing. Those that only a crash or a copy brings to light are for the storm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass, replace
from typing import Any

from sedano.canvas import Form, group
from sedano.engine.batch import Batch, Job
from sedano.engine.canvas.chord_results import Gathering, HeaderFailed
from sedano.engine.canvas.continuation import Conducting, Consequences
from sedano.engine.canvas.launches import LaunchOrigin
from sedano.engine.canvas.map_tasks import built_in
from sedano.engine.drafts import Addressed, CommandDraft
from sedano.engine.worker.follow_ups import Following
from sedano.engine.worker.pipeline import Worker
from sedano.errors import SedanoError
from sedano.model.canvas.continuation import PlaceContents
from sedano.model.canvas.page_reader import Item
from sedano.model.canvas.tree import TaskNode
from sedano.model.ledger.records import ErrorRecord, TaskRecord
from sedano.model.messages import codec
from sedano.model.messages.lineage import Lineage
from sedano.model.messages.message import MAP, Command, Gather, Place
from sedano.model.retry import Retry
from sedano.ports import Outgoing
from tests.canvas.workshop import Workshop
from tests.simulation.claims import Planted
from tests.stories import mutants as stories

Plant = Callable[[Worker], None]


class LosesErrorCallbacks(Conducting):
    """Calls nobody when a task fails, as a chord whose header is a group in a group does in Celery."""

    def _call(self, item: Item, job: Job, why: ErrorRecord, found: Consequences, told: set[str]) -> None:
        del item, job, why, found, told


class CallsTwice(Conducting):
    """Calls an error callback once for each time that it is linked, or heard of."""

    def _call(self, item: Item, job: Job, why: ErrorRecord, found: Consequences, told: set[str]) -> None:
        before = len(found.messages)
        super()._call(item, job, why, found, told)
        found.messages += [_again(message, self.ports.entropy.uuid()) for message in found.messages[before:]]


class LeavesTheEndOpen(Conducting):
    """Records nothing for what never runs, so whoever waits for the end of a canvas waits for ever."""

    def failed(self, job: Job, state: str, error: ErrorRecord | None) -> Consequences:
        """Forget the exits."""
        found = super().failed(job, state, error)
        found.exits.clear()
        return found


class LetsTheFailedNotArrive(Conducting):
    """Takes a member that failed for one that has not ended."""

    def failed(self, job: Job, state: str, error: ErrorRecord | None) -> Consequences:
        """Forget the arrivals."""
        found = super().failed(job, state, error)
        found.arrivals.clear()
        return found


class ForgetsStamps(Conducting):
    """Publishes what follows without the stamps of what it follows from."""

    def _composed(self, draft: CommandDraft, origin: LaunchOrigin) -> Addressed:
        return super()._composed(draft.asking(stamps=None), origin)


class HandsOnNothing(Conducting):
    """Hands on no value."""

    def _handed_on(
        self, place: Place, salt: str, value: Callable[[], Any], job: Job, found: Consequences, lineage: Lineage | None = None
    ) -> bool:
        return super()._handed_on(place, salt, lambda: None, job, found, lineage)


class LosesAMember(Conducting):
    """Publishes all members of a group but the last."""

    def _launched(self, job: Job) -> list[Addressed]:
        return super()._launched(job)[:-1]


class ForgetsWhomItReplaces(Conducting):
    """Does not know that a task stands in for another one when it fails."""

    def _spots(self, place: Place) -> Iterator[tuple[Place, PlaceContents]]:
        yield from list(super()._spots(place))[:1]


class GathersBackwards(Gathering):
    """Hands on the results in another order than that of the header."""

    def results(self, gather: Gather) -> list[Any]:
        """Turn them round."""
        return super().results(gather)[::-1]


class RunsTheBodyAnyway(Gathering):
    """Runs the body of a chord with what there is."""

    def results(self, gather: Gather) -> list[Any]:
        """Hand on nothing when the header failed."""
        try:
            return super().results(gather)
        except HeaderFailed:
            return []


class HidesTheCause(Gathering):
    """Tells that a chord failed instead of what failed in it, as Celery's `ChordError` does."""

    def results(self, gather: Gather) -> list[Any]:
        """Replace the error."""
        try:
            return super().results(gather)
        except HeaderFailed as failed:
            raise HeaderFailed(ErrorRecord("ChordError", "a member failed", cause=failed.error.cause)) from None


class RetriesAlone(Following):
    """Publishes the retry of a member as a task that is a member of nothing."""

    def _retry(self, job: Job, attempt: int, wait: float, section: Any) -> Addressed:
        alone = job._replace(command=job.command._replace(member=None))
        return super()._retry(alone, attempt, wait, section)


class RetriesElsewhere(Following):
    """Publishes the retry of a step without its place in the canvas."""

    def _retry(self, job: Job, attempt: int, wait: float, section: Any) -> Addressed:
        lost = job._replace(command=job.command._replace(place=None))
        return super()._retry(lost, attempt, wait, section)


def never_tries_again(worker: Worker) -> None:
    """Let no task of a worker be tried again."""
    tasks = worker._intake.registry.tasks
    for name, spec in list(tasks.items()):
        tasks[name] = _changed(spec, retry=Retry(max_retries=0))


def conducting(kind: type[Conducting]) -> Plant:
    """Return what plants a mutant of conducting into a worker."""

    def plant(worker: Worker) -> None:
        real = worker._following.conducting
        _conduct(worker, kind(*(getattr(real, name) for name in Conducting.__match_args__)))

    return plant


def gathering(kind: type[Gathering]) -> Plant:
    """Return what plants a mutant of gathering into a worker."""

    def plant(worker: Worker) -> None:
        _conduct(worker, _changed(worker._following.conducting, gathering=kind(worker.ports)))

    return plant


def following(kind: type[Following]) -> Plant:
    """Return what plants a mutant of following into a worker."""
    plant: Plant = stories.following(kind)
    return plant


def _conduct(worker: Worker, conducting: Conducting) -> None:
    joining = _changed(worker._following.joining, conducting=conducting)
    worker._following = _changed(worker._following, conducting=conducting, joining=joining)
    worker._claiming = _changed(worker._claiming, following=worker._following)
    preparation = _changed(worker._execution.preparation, conducting=conducting)
    worker._execution = _changed(worker._execution, preparation=preparation)
    worker.recording.judging = _changed(worker.recording.judging, conducting=conducting)


def _changed(step: Any, **changes: Any) -> Any:
    """Return a step of the worker with *changes*; some are data classes, some named tuples."""
    return replace(step, **changes) if is_dataclass(step) and not isinstance(step, type) else step._replace(**changes)


def _again(message: Addressed, task_id: str) -> Addressed:
    command = codec.decode(message.outgoing.body)
    assert isinstance(command, Command)
    body = codec.encode(command._replace(id=task_id, task_id=task_id))
    return Addressed(message.queue, Outgoing(body, message.outgoing.delay, message.outgoing.tenant))


class DropsRejected(Following):
    """Acknowledges the message of a task that rejected it."""

    def _settle(self, jobs: Sequence[Job], failures: Mapping[str, SedanoError], rejected: Mapping[str, str], batch: Batch) -> None:
        del rejected
        super()._settle(jobs, failures, {}, batch)


class LosesQuietMembers(Gathering):
    """Hands on nothing for members that keep no result, as Celery's chord refuses them."""

    def value(self, record: TaskRecord) -> Any:
        """Know nothing of those."""
        return None if record.name.startswith("quiet-") else super().value(record)


def maps_one_item(worker: Worker) -> None:
    """Let a map call its task for the first of its items only."""
    tasks = worker._intake.registry.tasks
    built_in(worker._intake.registry, MAP)
    real = tasks[MAP].function
    tasks[MAP] = tasks[MAP]._replace(function=lambda task, items, star=False: real(task, items[:1], star))


def member_by_member(shop: Workshop) -> Any:
    """Publish each member of a group by itself, as sedano did with plain groups before they were launched."""
    members = shop.form.members if isinstance(shop.form, group) else ()
    if len(members) < 2 or any(not isinstance(member, TaskNode) for member in members) or shop.form.tree.links or shop.form.tree.watch:
        return shop.publish()
    result = shop.form.freeze()
    for number, member in enumerate(members):
        Form(member, shop.app).apply_async(task_id=result[number].id)
    return result


ALWAYS: Mapping[str, Plant] = {
    **{kind.__name__: conducting(kind) for kind in (
        LosesErrorCallbacks, CallsTwice, LeavesTheEndOpen, LetsTheFailedNotArrive, ForgetsStamps, HandsOnNothing, LosesAMember,
        ForgetsWhomItReplaces,
    )},
    **{kind.__name__: gathering(kind) for kind in (GathersBackwards, RunsTheBodyAnyway, HidesTheCause, LosesQuietMembers)},
    **{kind.__name__: following(kind) for kind in (RetriesAlone, RetriesElsewhere, DropsRejected)},
    "NeverTriesAgain": never_tries_again,
    "MapsOneItem": maps_one_item,
}  # fmt: skip
"""Faults that show without any crash."""
STORMY: Mapping[str, Planted] = {
    "CountsArrivals": Planted(ports=lambda ports: stories.on_ledger(ports, stories.CountsArrivals)),
    "FollowsUnderFreshIds": Planted(worker=following(stories.FollowsUnderFreshIds)),
    "NeverFollowsAgain": Planted(worker=following(stories.NeverFollowsAgain)),
    "NeverRetriesAgain": Planted(worker=following(stories.NeverRetriesAgain)),
    "AcknowledgesUnfollowed": Planted(worker=following(stories.AcknowledgesUnfollowed)),
    "NeverSteals": Planted(ports=lambda ports: stories.on_ledger(ports, stories.NeverSteals)),
}
"""Faults that a crash, a copy or a lost answer brings to light."""
HASTY: Mapping[str, Callable[[Workshop], Any]] = {"MemberByMember": member_by_member}
"""Faults of a publisher that show when it dies."""
EVERY: Sequence[str] = (*ALWAYS, *STORMY)
