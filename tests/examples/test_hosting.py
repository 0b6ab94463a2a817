"""The files for hosts of `sedano worker`: systemd accepts the unit, the manifest has the shape that Kubernetes and KEDA document.

Both leave the worker the time of its drain. Each check sees a planted fault.
"""

import copy
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sedano.cli.verbs.worker import command
from sedano.host.health_server import address
from tests.examples import hosting
from tests.examples.hosting import FILES, Manifest

MOST_EXPOSED = 2.0
"""`systemd-analyze security` calls services above 10 unsafe and below 2 well hardened."""


def test_the_manifest_has_no_fault() -> None:
    assert list(hosting.faults(hosting.manifest())) == []


def test_the_unit_has_no_fault() -> None:
    assert list(hosting.faults_of_unit(hosting.unit())) == []


def test_the_worker_listens_where_the_manifest_and_the_unit_say() -> None:
    (health,) = (one for one in command.params if one.name == "health")
    assert health.envvar == "SEDANO_HEALTH"
    given = {one["name"]: one["value"] for one in hosting.manifest().container["env"]}
    assert address(given["SEDANO_HEALTH"]) == ("0.0.0.0", 8080)  # noqa: S104 - the kubelet asks the pod's own address


def _spec(kind: str, **changes: Any) -> Callable[[Manifest], None]:
    return lambda found: found.kinds[kind]["spec"].update(changes)


def _pod(**changes: Any) -> Callable[[Manifest], None]:
    return lambda found: found.pod.update(changes)


def _container(**changes: Any) -> Callable[[Manifest], None]:
    return lambda found: found.container.update(changes)


PLANTED: list[tuple[Callable[[Manifest], None], str]] = [
    (_pod(terminationGracePeriodSeconds=64), "kills the worker before its drain is over"),
    (_pod(terminationGracePeriodSecond=70), "'terminationGracePeriodSecond' was unexpected"),
    (_pod(securityContext={"runAsNonRoot": True, "runAsUser": 0}), "0 is less than the minimum of 1"),
    (_pod(serviceAccountName="default"), "another service account"),
    (_container(env=[{"name": "SEDANO_HEALTH", "value": "8080"}]), "asks where the worker does not listen"),
    (_container(env=[{"name": "SEDANO_HEALTH", "value": "0.0.0.0:8081"}]), "asks where the worker does not listen"),
    (_container(livenessProbe={"httpGet": {"path": "/ready", "port": "health"}}), "another answer than it needs"),
    (_container(livenessProbe={"exec": {"command": ["true"]}}), "'exec' was unexpected"),
    (_container(command=["sedano", "worker", "shop.tasks:app", "--queues=gpu", "--drain=60"]), "other messages for each pod"),
    (_container(command=["sedano", "worker", "shop.tasks:app", "--queues=mail", "-c4", "--processes=2"]), "another queue"),
    (_spec("ScaledObject", minReplicaCount=11), "no room"),
    (_spec("ScaledObject", scaleTargetRef={"name": "worker"}), "scales something else"),
    (_spec("Deployment", selector={"matchLabels": {"app": "worker"}}), "selects other pods"),
    (_spec("TriggerAuthentication", podIdentity={"provider": "aws-eks"}), "'aws' was expected"),
    (lambda found: found.kinds["Deployment"].update(apiVersion="apps/v2"), "'apps/v1' was expected"),
    (lambda found: found.kinds.pop("TriggerAuthentication"), "it has ["),
]  # fmt: skip


@pytest.mark.parametrize(("plant", "said"), PLANTED, ids=[said for _, said in PLANTED])
def test_a_fault_of_a_manifest_is_named(plant: Callable[[Manifest], None], said: str) -> None:
    found = copy.deepcopy(hosting.manifest())
    plant(found)
    assert any(said in one for one in hosting.faults(found)), said


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("TimeoutStopSec", "64", "before its drain is over"),
        ("Type", "simple", "Type is simple"),
        ("KillMode", "control-group", "KillMode is control-group"),
        ("WatchdogSec", "0", "whether the worker moves"),
        ("DynamicUser", "no", "rights"),
    ],
)
def test_a_fault_of_a_unit_is_named(name: str, value: str, said: str) -> None:
    found = hosting.unit()
    found["Service"][name] = value
    assert any(said in one for one in hosting.faults_of_unit(found))


def test_systemd_accepts_the_unit_and_finds_it_hardened(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    text, unit = (FILES / "shop-worker.service").read_text(encoding="utf-8"), tmp_path / "shop-worker.service"
    unit.write_text(text.replace("/srv/shop/venv/bin/sedano", sys.executable))
    done = subprocess.run([analyze, "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False, timeout=60)
    assert [line for line in done.stderr.splitlines() if "shop-worker" in line] == [], done.stderr
    judged = subprocess.run([analyze, "security", "--offline=true", str(unit)], capture_output=True, text=True, check=False, timeout=60)
    (exposed,) = re.findall(r"exposure level for shop-worker.service: ([0-9.]+)", judged.stdout)
    assert float(exposed) < MOST_EXPOSED


def test_a_unit_that_systemd_does_not_know_is_refused(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    unit = tmp_path / "shop-worker.service"
    unit.write_text((FILES / "shop-worker.service").read_text(encoding="utf-8").replace("KillMode=mixed", "KillMode=gently"))
    done = subprocess.run([analyze, "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False, timeout=60)
    assert any("gently" in line for line in done.stderr.splitlines())
