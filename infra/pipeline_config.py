"""The settings of the pipeline, read from the CDK context beside those of `StageConfig`.

| setting | default | is |
|---|---|---|
| `pipeline` | `glue` | what runs the history job: `glue`, `emr` (EMR Serverless) or `none` |
| `pipeline_schedule` | off | when it runs by itself: a Glue schedule such as `cron(15 * * * ? *)` |
| `pipeline_lag` | 6 | after how many hours without a good run an alarm says that the tables are behind |
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from infra.config import ConfigError

ENGINES = ("glue", "emr", "none")
LONGEST_LAG = 24
_SCHEDULE = re.compile(r"cron\([^()]{9,100}\)")


@dataclass(frozen=True, slots=True)
class PipelineConfig:
    """What runs the history job, and when; one that exists is valid."""

    engine: str = "glue"
    schedule: str | None = None
    lag_hours: int = 6

    def __post_init__(self) -> None:
        """Refuse what cannot be deployed."""
        if self.engine not in ENGINES:
            raise ConfigError(f"pipeline: {self.engine!r} cannot be used; expected one of {', '.join(ENGINES)}")
        if self.schedule is not None and not _SCHEDULE.fullmatch(self.schedule):
            raise ConfigError(f"pipeline_schedule: {self.schedule!r} cannot be used; expected a Glue schedule such as cron(15 * * * ? *)")
        if self.schedule is not None and self.engine != "glue":
            raise ConfigError(f"pipeline_schedule: only pipeline=glue runs by itself; {self.engine!r} is started by whoever needs it")
        if not 1 <= self.lag_hours <= LONGEST_LAG:
            raise ConfigError(f"pipeline_lag: {self.lag_hours} cannot be used; expected a whole number from 1 to {LONGEST_LAG}")

    @classmethod
    def from_context(cls, context: Callable[[str], object]) -> "PipelineConfig":
        """Reads the settings through `context`, which answers None for what was not given."""
        engine, schedule, lag = (context(name) for name in ("pipeline", "pipeline_schedule", "pipeline_lag"))
        text = "6" if lag is None else str(lag).strip()
        if not re.fullmatch(r"\d{1,3}", text):
            raise ConfigError(f"pipeline_lag: {text!r} cannot be used; expected a whole number from 1 to {LONGEST_LAG}")
        return cls("glue" if engine is None else str(engine).strip(), None if schedule is None else str(schedule).strip(), int(text))
