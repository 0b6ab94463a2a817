"""`app.control.broadcast` and `answers`: commands to workers, which each obeys once, and what they answer."""

from __future__ import annotations

from sedano.api.control_part import ControlPart
from sedano.engine.cluster import inbox as engine
from sedano.model.cluster import inbox as rule


class InboxControl(ControlPart):
    """The part of `app.control` for commands to workers."""

    def broadcast(self, verb: str, argument: str = "", *, to: str | None = None, seconds: int = 60) -> str:
        """Ask all workers, or one, to do something now; each worker that gets it while it holds obeys it once.

        A worker that is a process looks each second. A worker on Lambda looks with its heartbeat, once a minute, while it is invoked. A
        worker that starts later is not asked.

        Args:
            verb: ``ping``, ``stats``, ``stacks`` (log the stack of each thread), ``expired`` (running tasks whose claims expired),
                ``check_health``, ``log``, ``reload`` (the configuration); for a worker that is a process also ``retry_boot``, ``drain``,
                ``pause``, ``resume``, ``concurrency`` and ``terminate``. Others answer that as ``unsupported``.
            argument: for ``check_health`` the name of the check; for ``log`` a level and seconds (``debug 600``; 300 without); for
                ``concurrency`` how many bodies run at once; for ``terminate`` the id of a task that was revoked with ``terminate=True``.
                No other verb takes one.
            to: the name of one worker, as `members` lists it; None: all of them.
            seconds: for how long it holds, from 1 to 900.

        Returns:
            the id of the command, for `answers`.

        Raises:
            OptionError: the verb is unknown, or it does not take this argument, or no worker can have that name.
            TooLarge: 32 commands hold already.
            Unavailable: a store did not answer, or the keys of the stage could not be read.
        """
        ports = self._ports
        asked = rule.asking(ports.entropy.uuid(), verb, argument, ports.clock.now(), seconds)
        engine.broadcast(ports, self._controlling, asked, rule.audience(to))
        return asked.id

    def answers(self, command_id: str) -> dict[str, str]:
        """Return the answers to the command *command_id* that have arrived, by the names of the workers.

        A worker keeps its latest four answers. An answer is data that the worker wrote; ``stats`` answers with JSON.

        Raises:
            Unavailable: the store did not answer.
        """
        return engine.answers(self._ports, command_id)
