"""The settings of the processes that serve queues on Fargate in place of Lambda.

    StageConfig(served_by={"mail": "fargate"}, fleet=Fleet(image="123456789012.dkr.ecr.eu-central-1.amazonaws.com/shop:7", drain=60))
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from .checked import require, require_within

#: The servers of a queue: the worker function, a service of ECS on Fargate that the stage has, or processes that you start yourself.
LAMBDA, FARGATE, PROCESS = "lambda", "fargate", "process"
SERVERS = (LAMBDA, FARGATE, PROCESS)
#: The longest time, in seconds, until Fargate kills a container that was asked to stop, and the part that a worker needs after its drain.
LONGEST_STOP, TO_END = 120, 10
#: For how many seconds a body may run in a process at most: `--timeout` of `sedano worker` takes no more.
LONGEST_BODY = 39_600
#: The sizes of a Fargate task: its memory in MB, from least to most in steps, by its CPU units (1 024 are one virtual CPU).
SIZES: Mapping[int, range] = MappingProxyType({
    512: range(1024, 4097, 1024), 1024: range(2048, 8193, 1024), 2048: range(4096, 16385, 1024), 4096: range(8192, 30721, 1024),
    8192: range(16384, 61441, 4096), 16384: range(32768, 122881, 8192),
})  # fmt: skip
ARCHITECTURES = ("arm64", "x86_64")
#: The most tasks of a service that can be asked for here.
MOST_TASKS = 1_000

_IMAGE = re.compile(r"[a-z0-9][\w.:/@-]{0,510}")
_SUBNET = re.compile(r"subnet-[0-9a-f]{8,17}")
_GROUP = re.compile(r"sg-[0-9a-f]{8,17}")
_TOKEN = re.compile(r"\$\{Token\[.+\]\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """The processes of `sedano worker` that serve each queue of `served_by={…: "fargate"}`: one service of ECS per queue.

    Args:
        image: the container image with your code and `sedano`, with its registry and tag or digest. It is not built by the deployment.
        architecture: of the image: `arm64`, which costs a fifth less, or `x86_64`.
        cpu: of a task, in CPU units: 512, 1024, 2048, 4096, 8192 or 16384; 1024 are one virtual CPU.
        memory: of a task, MB, as Fargate offers it for that cpu.
        concurrency: bodies at once per process (1 to 1 000).
        processes: of a task (1 to 64).
        drain: seconds in which bodies may end when a task is stopped (0 to 110): Fargate kills a container after 120 at most.
        timeout: seconds that a body may take (2 to 39 600).
        least, most: tasks of a service; the number follows the backlog between them. With `least=0` nothing runs while nothing waits.
        on_demand: how many tasks of a service are not on spare capacity, which AWS may take back with two minutes' notice.
        subnets: of a VPC of yours. By default the stage gets a small VPC of its own.
        security_groups: of that VPC; by default its default one.
        public_ip: give tasks in those subnets a public address: subnets behind an internet gateway need it, and those behind a NAT do not.

    Raises:
        ConfigError: a field cannot be used.
    """

    image: str
    architecture: str = "arm64"
    cpu: int = 512
    memory: int = 1024
    concurrency: int = 10
    processes: int = 1
    drain: int = 60
    timeout: int = 3_600
    least: int = 0
    most: int = 10
    on_demand: int = 0
    subnets: tuple[str, ...] = ()
    security_groups: tuple[str, ...] = ()
    public_ip: bool = False

    def __post_init__(self) -> None:
        """Refuse what ECS would refuse when it is deployed, or would not do as asked."""
        require(_matches(_IMAGE, self.image), "fleet.image", self.image, "the address of an image, such as …/shop:7 or …/shop@sha256:…")
        require(self.architecture in ARCHITECTURES, "fleet.architecture", self.architecture, f"one of {', '.join(ARCHITECTURES)}")
        require(self.cpu in SIZES, "fleet.cpu", self.cpu, f"one of {', '.join(map(str, SIZES))} CPU units")
        sizes = SIZES[self.cpu]
        expected = f"a multiple of {sizes.step} from {sizes[0]} to {sizes[-1]}, which Fargate offers for cpu={self.cpu}"
        require(self.memory in sizes, "fleet.memory", self.memory, expected)
        require_within("fleet.concurrency", self.concurrency, 1, 1_000)
        require_within("fleet.processes", self.processes, 1, 64)
        require_within("fleet.timeout", self.timeout, 2, LONGEST_BODY)
        longest = LONGEST_STOP - TO_END
        expected = f"0 to {longest} seconds: Fargate kills a container {LONGEST_STOP} s after it was asked to stop"
        require(self.drain in range(longest + 1), "fleet.drain", self.drain, expected)
        require_within("fleet.most", self.most, 1, MOST_TASKS)
        require_within("fleet.least", self.least, 0, self.most)
        require_within("fleet.on_demand", self.on_demand, 0, self.most)
        self._check_network()

    def _check_network(self) -> None:
        for name, pattern, example in (("subnets", _SUBNET, "subnet-0123abcd"), ("security_groups", _GROUP, "sg-0123abcd")):
            given = getattr(self, name)
            usable = isinstance(given, tuple) and all(_matches(pattern, one) or _matches(_TOKEN, one) for one in given)
            require(usable, f"fleet.{name}", given, f"ids such as {example}, as a tuple; as a text with + between them")
        require(isinstance(self.public_ip, bool), "fleet.public_ip", self.public_ip, "True or False")
        for name, given in (("security_groups", self.security_groups), ("public_ip", self.public_ip)):
            require(self.subnets or not given, f"fleet.{name}", given, "subnets= as well; the stage's own VPC has both")

    @property
    def stop_timeout(self) -> int:
        """The seconds after which Fargate kills a task that was asked to stop: its drain, and the time to end after it."""
        return max(self.drain + TO_END, 2)

    @property
    def lanes(self) -> int:
        """How many bodies run at once in one task."""
        return self.concurrency * self.processes


def _matches(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None
