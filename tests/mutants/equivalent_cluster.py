"""Mutants of hooks and of the steps of the cluster that no test can notice, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping

CLUSTER: Mapping[tuple[str, str, str, str], str] = {
    (
        "sedano.engine.hooks",
        "publish",
        "for draft in drafts if hooks.get(ON_PUBLISH) else ():",
        "`drafts if hooks.get(ON_PUBLISH) else ()` → `drafts`",
    ): "a short cut for most apps: without a hook none is called of what is described for it",
    (
        "sedano.engine.cluster.controller",
        "Controller._wished",
        "if not control.wished:",
        "`if not control.wished` → `if False`",
    ): "a short cut for most deployments: of no scaled queues Lambda has no shares",
    (
        "sedano.engine.cluster.inbox",
        "answers",
        "found = {member.name: rule.answers_of(member.answers) for member in ports.members.read() if member.answers}",
        "`for member in ports.members.read() if member.answers` → `for member in ports.members.read()`",
    ): "a short cut for most workers: a record without answers has none to this command either",
    **{
        ("sedano.engine.health", "look", "health.reported(check.spec, Health(check.name), state, 0.0)", f"`0.0` → `{time}`"): (
            "only whether the check declares the state is asked; the answer with the time in it is not used"
        )
        for time in ("1.0", "-1.0")
    },
    (
        "sedano.engine.cluster.membership",
        "InboxDoor.obey",
        "if not self._membership.control.asked or not has(self._ports.memos):",
        "`not self._membership.control.asked or not has(self._ports.memos)` → `not has(self._ports.memos)`",
    ): "a short cut that loads no module: an inbox that nothing was announced of is not read there either",
    **{
        ("sedano.engine.cluster.membership", "Membership.__init__", "self._said = MemberRecord(name, 0, ACTIVE, 0, 0.0)", change): (
            "each use of what was said writes another clock and another moment"
        )
        for change in ("`0` → `1`", "`0` → `-1`", "`0.0` → `1.0`", "`0.0` → `-1.0`")
    },
    (
        "sedano.engine.cluster.membership",
        "Membership._is_paused",
        "if not self.control.paused:",
        "`if not self.control.paused` → `if False`",
    ): "a short cut that loads no module: of no pauses none is in force",
    (
        "sedano.engine.cluster.log_levels",
        "LogLevels.__init__",
        'self._until = float("inf")',
        "`self._until = float('inf')` → `pass`",
    ): "it is set by each change, and not read before the first one",
    (
        "sedano.engine.cluster.controller",
        "Controller._told",
        'self._ports.telemetry.count("MessagesWaiting", load.waiting, queue=queue)',
        ("`self._ports.telemetry.count('MessagesWaiting', load.waiting, queue=queue)` after "
        "`self._ports.telemetry.count('MessagesInFlight', load.running, queue=queue)`"),
    ): "two counts that do not read one another",
    (
        "sedano.engine.cluster.controller",
        "Controller._ask",
        "won = False",
        "`False` → `True`",
    ): "the check is changed at least once, and each change sets it",
    (
        "sedano.engine.cluster.explanation",
        "_held",
        "lines = (line for blob in ports.events.read(since) for line in blob.splitlines() if task_id.encode() in line)",
        "`for line in blob.splitlines() if task_id.encode() in line` → `for line in blob.splitlines()`",
    ): "a short cut for the lines of other tasks, which are not decoded",
    (
        "sedano.engine.cluster.membership",
        "Membership.lose",
        'count_at_once(self._ports.telemetry, "WorkersLost", job.task.name)',
        ("`count_at_once(self._ports.telemetry, 'WorkersLost', job.task.name)` after "
        "`batch.chronicle.line(WORKER_LOST, self._lampo …  told_by=self.name, task=job.command.task_id)`"),
    ): "notes that do not read one another",
}
