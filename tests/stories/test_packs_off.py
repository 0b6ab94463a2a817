"""Stories of programs that never write `pack=`: no message, no id, no record and no call is one of packs."""

from typing import Any

import pytest

from sedano import chain, chord, group
from sedano.model import packs
from sedano.model.messages.message import PACK
from tests.stories.processes import Processes
from tests.stories.shop import Shop
from tests.stories.stage import in_memory
from tests.stories.taps import Watch, tapped


@pytest.mark.parametrize("pack", [None, False])
def test_a_program_that_writes_no_pack_sends_and_records_nothing_of_packs(pack: bool | None) -> None:
    stage, shop, watch = in_memory(), Shop(), Watch()
    processes = Processes(stage, shop.app)
    ports = tapped(stage.ports, watch)
    shop.app.attach(ports)
    processes.restart(ports)
    asked: dict[str, Any] = {} if pack is None else {"pack": pack}
    members = [shop.add.s(n, n) for n in range(40)]
    results = [
        group(members, **asked).delay(), chord(members, shop.total.s(), **asked).delay(),
        chain(shop.add.s(1, 2), shop.add.s(3)).delay(), shop.add.chunks([(n, n) for n in range(9)], 3).delay(), shop.fails.delay(),
    ]  # fmt: skip
    results[0][3].revoke()
    sent = [message.body for queue in stage.keys for message in stage.peek(queue)]
    processes.drain()
    assert "ledger.mark" not in watch.calls
    assert sent
    assert not any(PACK in body for body in sent)
    ends = [(end.task_id, end.name) for end in stage.audit.ends]
    assert len(ends) > 80
    assert not any(packs.is_reserved(task_id) or name == PACK for task_id, name in ends)
    assert all(packs.size_of(str(one.id)) == 0 for one in results)
