"""Random canvases as trees, for the properties of the model."""

from hypothesis import strategies as st

from sedano.model.canvas.tree import Chain, Fork, Group, TaskNode, Tree
from sedano.model.tasks.signature import Signature

NAMES = ("add", "total", "mail", "pack")
arguments = st.lists(st.integers(0, 9) | st.text(max_size=5), max_size=3).map(tuple)
signatures = st.tuples(st.sampled_from(NAMES), arguments, st.booleans()).map(lambda p: Signature(p[0], p[1], immutable=p[2]))
errbacks = st.sampled_from([(), (TaskNode(Signature("note")),), (TaskNode(Signature("alarm")),)])
plain = signatures.map(TaskNode)


def _larger(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    several = st.lists(inner, max_size=4).map(tuple)
    forks = st.lists(inner, min_size=1, max_size=2).map(lambda branches: Fork(tuple(branches)))
    later = st.lists(inner | forks, max_size=4)
    links = st.lists(inner, max_size=1).map(tuple)
    return st.one_of(
        st.tuples(signatures, links, errbacks).map(lambda p: TaskNode(*p)),
        st.tuples(several, links, errbacks, st.booleans()).map(lambda p: Group(*p)),
        st.tuples(inner, later, errbacks).map(lambda p: Chain((p[0], *p[1]), p[2])),
    )


trees: st.SearchStrategy[Tree] = st.recursive(plain, _larger, max_leaves=12)
