"""Generated messages: every field, at its edges as often as in the middle."""

from hypothesis import strategies as st

from sedano.errors import OptionError
from sedano.model.messages import headers
from sedano.model.messages.attributes import MAX_ATTEMPT, MAX_CLOCK, MAX_DATA_BYTES, MAX_INT32
from sedano.model.messages.lineage import DEFAULT_BUDGET, MAX_HOPS, ROOT, Lineage
from sedano.model.messages.message import BlobRef, Command, Document, Event, Gather, JoinMember, Place, Section, TimeLimits
from sedano.model.messages.stamps import HEADERS, LONGEST, write
from sedano.model.states import TERMINAL

LATEST_EXACT = 2**32
"""The moment (2106) up to which a double holds every microsecond."""

ADD = Command(
    id="0b7e2c1a-54d3-4c9f-8a61-7f0e9d2c3b4a",
    task_id="f3d1c5e7-9a2b-4d6c-8e0f-1a3b5c7d9e2f",
    task="shop.orders.tasks.add",
    source="ip-10-0-12-34.eu-central-1.compute.internal/4711",
    time=1_795_172_400.123456,
    clock=1_795_172_400_123_457,
    args=(1, 2),
)
"""The command that the README and every comparison with other queues measure."""


def travels(some):
    """Tell whether *some* headers are short and shallow enough to travel."""
    try:
        return bool(headers.write(some))
    except OptionError:
        return False


def fits(stamps):
    """Tell whether *stamps* are short enough to travel."""
    return sum(len(name) + 3 * len(value.encode()) + 2 for name, value in stamps.items()) <= LONGEST


visible = st.characters(min_codepoint=0x21, max_codepoint=0x7E)
ids = st.uuids().map(str) | st.text(visible, min_size=1, max_size=256)
names = st.sampled_from(["shop.add", "a", "paket.Größe.berechnen"]) | st.text(visible, min_size=1, max_size=256)
tenants = st.text(visible, min_size=1, max_size=128)
times = st.just(0.0) | st.integers(1, LATEST_EXACT * 1_000_000).map(lambda micros: micros / 1_000_000)
clocks = st.sampled_from([0, 1, MAX_CLOCK, MAX_CLOCK - 1]) | st.integers(0, MAX_CLOCK)
sizes = st.sampled_from([0, 1, MAX_INT32]) | st.integers(0, MAX_INT32)
whole = st.characters(exclude_categories=["Cs"])
texts = st.text(whole, max_size=20)
scalars = (
    st.none() | st.booleans() | st.integers() | st.integers(-(10**40), 10**40) | st.floats(allow_nan=False, allow_infinity=False) | texts
)
plain = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=12)
fields = st.dictionaries(texts, plain, max_size=4)
refs = st.builds(
    BlobRef, st.binary(min_size=32, max_size=32).map(bytes.hex), st.sampled_from([0, MAX_DATA_BYTES]) | st.integers(0, MAX_DATA_BYTES)
)
marks = st.just("") | st.from_regex(r"[A-Za-z0-9_.-]{1,9};[0-9a-f]{32}", fullmatch=True)
budgets = st.just(DEFAULT_BUDGET) | sizes
lineages = st.just(ROOT) | st.builds(Lineage, st.none() | ids, st.none() | ids, st.integers(0, MAX_HOPS), budgets, marks)
traceparents = st.tuples(st.binary(min_size=16, max_size=16), st.binary(min_size=8, max_size=8), st.booleans()).map(
    lambda parts: f"00-{'1' + parts[0].hex()[1:]}-{'a' + parts[1].hex()[1:]}-0{int(parts[2])}"
)
trace_members = st.from_regex(r"[a-z0-9][a-z0-9_*/@-]{0,9}=[a-zA-Z0-9 :;]{0,9}[a-zA-Z0-9]", fullmatch=True)
tracestates = st.lists(trace_members, min_size=1, max_size=4).map(",".join)
stamp_names = st.from_regex(r"[a-z_][a-z0-9_.-]{0,9}", fullmatch=True).filter(lambda name: name not in HEADERS)
stamps = st.dictionaries(st.sampled_from(["cost_centre", "a", "_x.y-z"]) | stamp_names, texts.filter(bool), min_size=1, max_size=3)
written_stamps = stamps.filter(fits).map(write)
sections = st.builds(Section, st.integers(1, 999_999), st.integers(1, 999_999))
written_headers = st.dictionaries(texts.filter(bool), plain, min_size=1, max_size=2).filter(travels).map(headers.write)
seconds = st.none() | st.integers(1, 9_999_999_999_999).map(lambda micros: micros / 1_000_000)
time_limits = st.builds(TimeLimits, seconds, seconds).filter(any)
gathers = st.builds(Gather, ids, sizes, st.booleans(), st.booleans())
pages = refs.map(lambda ref: f"blob:{ref.digest}:{ref.size}") | st.just('{"item":{"chain":[{"task":"add","args":["\\u00e9"]}]}}')
places = st.builds(Place, ids, st.from_regex(r"[0-9]{1,9}(\.([0-9]{1,9}|links|forks|pages)){0,4}", fullmatch=True), pages)


@st.composite
def members(draw):
    """Draw a member of a join: its index lies below the size."""
    size = draw(st.integers(1, MAX_INT32))
    return JoinMember(draw(ids), draw(st.integers(0, size - 1)), size)


@st.composite
def commands(draw):
    """Draw a command; its data is in it or behind a claim check."""
    message_id, ref = draw(ids), draw(st.none() | refs)
    return Command(
        id=message_id,
        task_id=draw(st.just(message_id) | ids),
        task=draw(names),
        source=draw(ids),
        time=draw(times),
        clock=draw(clocks),
        args=() if ref else tuple(draw(st.lists(plain, max_size=4))),
        kwargs={} if ref else draw(fields),
        attempt=draw(st.integers(0, MAX_ATTEMPT)),
        lineage=draw(lineages),
        expires=draw(st.none() | times),
        tenant=draw(st.none() | tenants),
        traceparent=draw(st.none() | traceparents),
        tracestate=draw(st.none() | tracestates),
        ignore_result=draw(st.none() | st.booleans()),
        member=draw(st.none() | members()),
        gather=draw(st.none() | gathers),
        section=draw(st.none() | sections),
        time_limits=draw(st.none() | time_limits),
        data_ref=ref,
        stamps=draw(st.none() | written_stamps),
        place=draw(st.none() | places),
        headers=draw(st.none() | written_headers),
    )


@st.composite
def usual_commands(draw):
    """Draw a command of the kind that nearly every delivery is: a first attempt, perhaps of a follow-up or a member."""
    return Command(
        id=draw(ids),
        task_id=draw(ids),
        task=draw(names),
        source=draw(ids),
        time=draw(times),
        clock=draw(clocks),
        args=tuple(draw(st.lists(plain, max_size=3))),
        kwargs=draw(fields),
        lineage=draw(lineages),
        member=draw(st.none() | members()),
        place=draw(st.none() | places),
    )


@st.composite
def events(draw):
    """Draw an event; its data is in it or behind a claim check."""
    ref = draw(st.none() | refs)
    return Event(
        id=draw(ids),
        name=draw(names),
        source=draw(ids),
        time=draw(times),
        clock=draw(clocks),
        data={} if ref else draw(fields),
        lineage=draw(lineages),
        tenant=draw(st.none() | tenants),
        traceparent=draw(st.none() | traceparents),
        tracestate=draw(st.none() | tracestates),
        data_ref=ref,
        stamps=draw(st.none() | written_stamps),
    )


@st.composite
def documents(draw):
    """Draw a document: a value, or an error."""
    error = draw(st.none() | st.tuples(texts, texts, texts))
    return Document(
        id=draw(ids),
        task_id=draw(ids),
        task=draw(names),
        source=draw(ids),
        time=draw(times),
        clock=draw(clocks),
        state=draw(st.sampled_from(sorted(TERMINAL))),
        value=None if error else draw(plain),
        error=error,
    )


messages = commands() | usual_commands() | events() | documents()
