"""The traceback of a failed task begins in the user's own code."""

from sedano import Sedano, testing

app = Sedano("tracebacks")


@app.task(retry=False)
def fails(number: int) -> int:
    return number // 0


@app.task(retry=False)
async def fails_later(number: int) -> int:
    return number // 0


def test_the_traceback_names_the_body_and_none_of_the_librarys_frames() -> None:
    with testing.world(app) as world:
        results = [fails.delay(1), fails_later.delay(1)]
        world.drain()
        for result in results:
            record = result.record()
            assert record is not None
            assert record.error is not None
            assert "return number // 0" in record.error.traceback
            assert "sedano/engine" not in record.error.traceback
