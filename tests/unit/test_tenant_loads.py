"""Which tenant takes a queue's time from the others: shares add up, nothing is lost, and one alone is never noisy."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from sedano.model.history.registers import Timeline
from sedano.model.history.tenant_loads import TenantLoad, tenant_loads
from sedano.model.messages.stamps import for_event

SINCE = 1_000.0


def task(tenant: str = "", ran: float | None = 1.0, waited: float | None = 2.0, queue: str | None = "commands:default", at: float = SINCE):
    """A task of the history that was heard of last at *at*."""
    fields = {"queue": queue, "stamps": for_event(None, tenant or None)}
    return Timeline("t", "SUCCESS", "w", None, {"succeeded": at}, fields, at, waited, ran, None)


times = st.none() | st.floats(0, 1e6)
tasks = st.lists(
    st.builds(
        task, tenant=st.sampled_from(["", "acme", "é b", "x,y=z"]), ran=times, waited=times,
        queue=st.sampled_from(["commands:a", "commands:b", None]), at=st.floats(0, 2_000),
    ),
    max_size=30,
)  # fmt: skip


@given(tasks)
def test_every_recent_task_is_counted_once_and_shares_add_up(some: list[Timeline]) -> None:
    recent = [one for one in some if one.times["succeeded"] >= SINCE and one.fields["queue"]]
    loads = tenant_loads(some, SINCE)
    assert sum(one.tasks for one in loads) == len(recent)
    assert {one.tenant for one in loads} <= {"", "acme", "é b", "x,y=z"}
    assert {one.queue for one in loads} <= {"a", "b"}
    for queue in {one.queue for one in loads}:
        here = [one for one in loads if one.queue == queue]
        assert len({one.tenant for one in here}) == len(here)
        assert [one.share for one in here] == sorted((one.share for one in here), reverse=True)
        assert abs(sum(one.share for one in here) - (1 if any(one.ran for one in here) else 0)) < 1e-9
        assert not [one for one in here if one.noisy and (len(here) == 1 or not one.tenant or one.share < 0.5)]
        assert sum(one.noisy for one in here) <= 1, "two tenants cannot both take the most"


@given(tasks, st.randoms())
def test_the_order_of_tasks_changes_nothing(some: list[Timeline], dice: object) -> None:
    mixed = list(some)
    dice.shuffle(mixed)  # type: ignore[attr-defined]
    strip = lambda loads: [(one.queue, one.tenant, one.tasks, one.waited) for one in sorted(loads, key=lambda one: one[:2])]  # noqa: E731
    assert strip(tenant_loads(mixed, SINCE)) == strip(tenant_loads(some, SINCE))


def test_a_tenant_with_most_of_the_time_is_noisy_and_an_equal_share_is_not() -> None:
    loads = tenant_loads([task("acme", 9.0, 1.0), task("acme", 9.0, 3.0), task("zeta", 2.0, 8.0), task("old", 99.0, at=SINCE - 1)], SINCE)
    assert loads == [
        TenantLoad(queue="default", tenant="acme", tasks=2, ran=18.0, share=0.9, waited=2.0, noisy=True),
        TenantLoad(queue="default", tenant="zeta", tasks=1, ran=2.0, share=0.1, waited=8.0, noisy=False),
    ]
    assert [one.noisy for one in tenant_loads([task("acme"), task("zeta")], SINCE)] == [False, False]
    assert [one.noisy for one in tenant_loads([task("acme", 3.0), task("zeta")], SINCE)] == [True, False], "three quarters of two"
    assert [one.noisy for one in tenant_loads([task("acme")], SINCE)] == [False], "alone on its queue"
    assert [one.noisy for one in tenant_loads([task("", 9.0), task("acme")], SINCE)] == [False, False], "calls without a tenant"
    assert [one.share for one in tenant_loads([task("acme", None, None)], SINCE)] == [0.0]


def test_a_task_is_recent_by_its_latest_event_and_one_without_a_time_is_as_old_as_can_be() -> None:
    some = replace(task("acme"), times={"received": 1.0, "succeeded": SINCE})
    assert [one.tenant for one in tenant_loads([some], SINCE)] == ["acme"]
    timeless = replace(task("acme"), times={})
    assert tenant_loads([timeless], 0.5) == []
    assert [one.tenant for one in tenant_loads([timeless], 0.0)] == ["acme"]


def test_of_tenants_with_equal_shares_the_one_with_more_tasks_is_first() -> None:
    some = [task("acme", ran=0.0), task("zoo", ran=0.0), task("zoo", ran=0.0)]
    assert [(one.tenant, one.tasks) for one in tenant_loads(some, SINCE)] == [("zoo", 2), ("acme", 1)]


def test_a_tenant_is_noisy_beside_others_and_never_alone() -> None:
    assert [one.noisy for one in tenant_loads([task("acme", ran=3.0), task("zoo", ran=1.0)], SINCE)] == [True, False]
    assert [one.noisy for one in tenant_loads([task("acme", ran=2.9), task("zoo", ran=1.0)], SINCE)] == [False, False]
    assert [one.noisy for one in tenant_loads([task("acme"), task("acme")], SINCE)] == [False]
    assert [one.noisy for one in tenant_loads([task("", ran=9.0), task("zoo", ran=1.0)], SINCE)] == [False, False]
