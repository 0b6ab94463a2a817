"""When the next link of a chain may run inline, and the id under which it is claimed then."""

from hypothesis import given
from hypothesis import strategies as st

from sedano.model.inline_links import MOST_LINKS, NextLink, inline_id, why_sent
from sedano.model.messages.message import Command, JoinMember, Place

NOW = 1_000.0
LINK = NextLink(
    receives=1, links=0, same_queue=True, delayed=False, claimed=True, limit=0.0, whole=60.0, deadline=NOW + 60.0, guard=1.0,
    began=NOW,
)  # fmt: skip
COMMAND = Command("m", "t", "f", "me", NOW, 1, place=Place("c", "0.1", "plan"))
SENT = {
    "its carrier was received before": {"receives": 2},
    "100 links have followed one message": {"links": MOST_LINKS},
    "it goes to another queue": {"same_queue": False},
    "it has a delay": {"delayed": True},
    "a link is delivered without a claim": {"claimed": False},
    "the worker begins no further body": {"stops": True},
    "30 s have passed since its carrier began": {"began": NOW - 30.1},
    "too little time is left": {"deadline": NOW + 53.9},
}
links = st.builds(
    NextLink,
    receives=st.integers(1, 3), links=st.integers(0, MOST_LINKS + 1), same_queue=st.booleans(), delayed=st.booleans(),
    claimed=st.booleans(), limit=st.floats(0, 900), whole=st.floats(0, 900), deadline=st.floats(NOW - 10, NOW + 900), guard=st.floats(0, 5),
    began=st.floats(NOW - 60, NOW), stops=st.booleans(),
)  # fmt: skip


def test_each_reason_alone_sends_the_link() -> None:
    assert why_sent(LINK, NOW) == ""
    assert {why_sent(LINK._replace(**changes), NOW) for changes in SENT.values()} == set(SENT)
    assert all(why_sent(LINK._replace(**changes), NOW) == why for why, changes in SENT.items())


def test_the_last_link_that_may_stay_is_the_hundredth() -> None:
    assert why_sent(LINK._replace(links=MOST_LINKS - 1), NOW) == ""
    assert why_sent(LINK._replace(receives=0), NOW) == "", "a queue may count from zero"


def test_nine_tenths_of_the_invocation_are_left_or_the_time_limit_and_the_guard() -> None:
    assert why_sent(LINK, NOW + 6.0) == ""
    assert why_sent(LINK, NOW + 6.1) == "too little time is left"
    assert why_sent(LINK._replace(limit=40.0), NOW + 19.0) == ""
    assert why_sent(LINK._replace(limit=40.0), NOW + 19.1) == "too little time is left"
    assert why_sent(LINK._replace(limit=10.0), NOW + 29.0) == "", "its author says how long it takes"


def test_a_link_may_follow_until_half_a_minute_after_its_carrier_began() -> None:
    long = LINK._replace(whole=900.0, deadline=NOW + 900.0)
    assert why_sent(long, NOW + 30.0) == ""
    assert why_sent(long, NOW + 30.1) == "30 s have passed since its carrier began"


@given(links, st.floats(0, 900), st.floats(0, 900))
def test_a_link_that_stays_has_the_time_that_it_needs(link: NextLink, passed: float, later: float) -> None:
    if not why_sent(link, NOW + passed):
        left = link.deadline - (NOW + passed)
        assert left >= (link.limit + link.guard if link.limit else 0.9 * link.whole)
        assert NOW + passed - link.began <= 30.0
    elif link.links < MOST_LINKS:
        assert why_sent(link, NOW + passed + later), "time alone never lets a link stay"


@given(links)
def test_only_a_first_receipt_with_a_claim_in_one_queue_stays(link: NextLink) -> None:
    if not why_sent(link, NOW):
        assert (link.receives <= 1, link.links < MOST_LINKS, link.same_queue, link.delayed, link.claimed, link.stops) == (
            True, True, True, False, True, False,
        )  # fmt: skip


def test_each_message_of_a_link_has_the_same_inline_id() -> None:
    again = COMMAND._replace(id="other", time=NOW + 9, clock=7, source="another", attempt=1)
    assert inline_id(COMMAND) == inline_id(again)


def test_other_links_have_other_inline_ids() -> None:
    member = JoinMember("join", 0, 3)
    others = [
        COMMAND, COMMAND._replace(task_id="u"), COMMAND._replace(task="g"), COMMAND._replace(place=None),
        COMMAND._replace(place=Place("c", "0.2", "plan")), COMMAND._replace(place=Place("c", "0.1", "another")),
        COMMAND._replace(member=member), COMMAND._replace(member=member._replace(join_id="k")),
        COMMAND._replace(member=member._replace(index=1)), COMMAND._replace(place=None, member=member),
    ]  # fmt: skip
    assert len({inline_id(one) for one in others}) == len(others)


def test_the_inline_id_is_the_same_in_every_release() -> None:
    member = COMMAND._replace(place=None, member=JoinMember("join", 0, 3))
    assert (inline_id(COMMAND), inline_id(member)) == ("9e94e625-e242-59ff-85f3-9efa4a60fa0f", "ae8acd03-cdd0-56ee-81e3-c622229018d0")
