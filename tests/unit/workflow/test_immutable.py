"""A declared workflow cannot be changed: what was checked when its class was made is what runs."""

import pytest

from sedano import Sedano
from sedano.errors import OptionError
from sedano.workflow import Input, Step, Workflow

app = Sedano("fixed")
price = app.task(name="price")(lambda order: 5)


class Fixed(Workflow, app=app):
    """One step."""

    order = Input(int)
    priced = Step(price.s(order))


@pytest.mark.parametrize("name", ["priced", "order", "flow", "new"])
def test_an_attribute_of_a_workflow_cannot_be_set_nor_deleted(name: str) -> None:
    before = dict(vars(Fixed))
    with pytest.raises(OptionError, match=rf"^Fixed.{name} cannot be set: a workflow is immutable"):
        setattr(Fixed, name, 1)
    with pytest.raises(OptionError, match=rf"^Fixed.{name} cannot be deleted: a workflow is immutable"):
        delattr(Fixed, name)
    assert dict(vars(Fixed)) == before
