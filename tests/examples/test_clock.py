"""The example of tasks that come round, run on virtual time: a minute of ticks, and a day with its report."""

from examples.clock.tasks import app, report, tick
from sedano import testing


def test_the_clock_ticks_every_ten_seconds_and_reports_on_weekdays_at_nine() -> None:
    with testing.world(app) as world:  # it is Thursday, 2026-01-01
        world.elapse(60)
        assert [sent["kwargs"]["when"][11:19] for sent in world.sent(tick.name)][:6] == [
            "00:00:10", "00:00:20", "00:00:30", "00:00:40", "00:00:50", "00:01:00",
        ]  # fmt: skip
        app.schedules.pause(tick.name)
        days = [moment.strftime("%a %H:%M %Z") for moment in app.schedules.next(report.name, 3)]
        assert days == ["Thu 09:00 CET", "Fri 09:00 CET", "Mon 09:00 CET"]
        world.elapse(86_400)
        (sent,) = world.sent(report.name)
        assert sent["kwargs"]["when"].startswith("2026-01-01T08:00:00")
