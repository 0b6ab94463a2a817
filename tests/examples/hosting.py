"""The shapes of the files for hosts, and the promises that they must keep.

No cluster is asked: the keys are those in the documents of Kubernetes (apps/v1, v1) and KEDA (keda.sh/v1alpha1), and others are a fault.
"""

import configparser
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click
import jsonschema
import yaml

from sedano.cli.verbs.worker import command

FILES = Path(__file__).resolve().parents[2] / "examples" / "hosting"
#: What a process needs after its drain until it has ended.
TO_END_S = 5


def _object(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": [*required], "properties": properties, "additionalProperties": False}


def _list(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": 1}


TEXT: dict[str, Any] = {"type": "string", "minLength": 1}
WHOLE: dict[str, Any] = {"type": "integer", "minimum": 0}
FLAG: dict[str, Any] = {"type": "boolean"}
TEXTS: dict[str, Any] = {"type": "object", "additionalProperties": TEXT}
NAMED = _object("name", name=TEXT)
META = _object("name", name=TEXT, labels=TEXTS, annotations=TEXTS)
PROBE = _object(
    "httpGet", httpGet=_object("path", "port", path={"enum": ["/live", "/ready"]}, port=TEXT),
    periodSeconds=WHOLE, failureThreshold=WHOLE, timeoutSeconds=WHOLE, initialDelaySeconds=WHOLE,
)  # fmt: skip
CONTAINER = _object(
    "name", "image", "command", "env", "envFrom", "livenessProbe", "readinessProbe", "startupProbe", "resources", "securityContext",
    name=TEXT, image=TEXT, command=_list(TEXT), env=_list(_object("name", "value", name=TEXT, value=TEXT)),
    envFrom=_list(_object("secretRef", secretRef=NAMED)), ports=_list(_object("containerPort", name=TEXT, containerPort=WHOLE)),
    livenessProbe=PROBE, readinessProbe=PROBE, startupProbe=PROBE,
    resources=_object("requests", "limits", requests=TEXTS, limits=_object("memory", memory=TEXT)),
    securityContext=_object(
        "allowPrivilegeEscalation", allowPrivilegeEscalation={"const": False}, readOnlyRootFilesystem=FLAG,
        capabilities=_object("drop", drop={"const": ["ALL"]}),
    ),
    volumeMounts=_list(_object("name", "mountPath", name=TEXT, mountPath=TEXT)),
)  # fmt: skip
POD = _object(
    "serviceAccountName", "terminationGracePeriodSeconds", "securityContext", "containers",
    serviceAccountName=TEXT, terminationGracePeriodSeconds=WHOLE,
    securityContext=_object(
        "runAsNonRoot", "runAsUser", runAsNonRoot={"const": True}, runAsUser={"type": "integer", "minimum": 1},
        runAsGroup={"type": "integer", "minimum": 1}, seccompProfile=_object("type", type={"const": "RuntimeDefault"}),
    ),
    containers=_list(CONTAINER), volumes=_list(_object("name", "emptyDir", name=TEXT, emptyDir={"type": "object"})),
)  # fmt: skip
WINDOW = _object("stabilizationWindowSeconds", stabilizationWindowSeconds=WHOLE)
TRIGGER = _object(
    "type", "metadata", "authenticationRef", type={"const": "aws-sqs-queue"}, authenticationRef=NAMED,
    metadata=_object(
        "queueURL", "awsRegion", "queueLength", queueURL={"type": "string", "pattern": r"^https://sqs\.[a-z0-9-]+\.amazonaws\.com/\d{12}/.+"},
        awsRegion=TEXT, queueLength={"type": "string", "pattern": "^[0-9]+$"}, scaleOnInFlight={"enum": ["true", "false"]},
        activationQueueLength={"type": "string", "pattern": "^[0-9]+$"},
    ),
)  # fmt: skip
BY_KIND: Mapping[str, tuple[str, dict[str, Any]]] = {
    "ServiceAccount": ("v1", {}),
    "Deployment": ("apps/v1", _object(
        "selector", "template", selector=_object("matchLabels", matchLabels=TEXTS),
        strategy=_object("type", type={"const": "RollingUpdate"}, rollingUpdate=_object(maxSurge=WHOLE, maxUnavailable=WHOLE)),
        template=_object("metadata", "spec", metadata=_object("labels", labels=TEXTS), spec=POD),
    )),
    "TriggerAuthentication": ("keda.sh/v1alpha1", _object("podIdentity", podIdentity=_object("provider", provider={"const": "aws"}))),
    "ScaledObject": ("keda.sh/v1alpha1", _object(
        "scaleTargetRef", "minReplicaCount", "maxReplicaCount", "triggers",
        scaleTargetRef=NAMED, minReplicaCount=WHOLE, maxReplicaCount=WHOLE, pollingInterval=WHOLE, cooldownPeriod=WHOLE,
        advanced=_object(horizontalPodAutoscalerConfig=_object(behavior=_object(scaleDown=WINDOW, scaleUp=WINDOW))),
        triggers=_list(TRIGGER),
    )),
}  # fmt: skip


class Manifest(NamedTuple):
    """The documents of a manifest by kind."""

    kinds: dict[str, dict[str, Any]]

    @property
    def pod(self) -> dict[str, Any]:
        """What the Deployment says of its pods."""
        pod: dict[str, Any] = self.kinds["Deployment"]["spec"]["template"]["spec"]
        return pod

    @property
    def container(self) -> dict[str, Any]:
        """The one container of a pod."""
        (container,) = self.pod["containers"]
        assert isinstance(container, dict)
        return container


def manifest() -> Manifest:
    """Return the manifest as it is in the repository."""
    documents = yaml.safe_load_all((FILES / "kubernetes.yaml").read_text(encoding="utf-8"))
    return Manifest({one["kind"]: one for one in documents})


def options(words: list[str]) -> dict[str, Any]:
    """Return the options of a command of `sedano worker` as the verb reads them."""
    assert words[:2] == ["sedano", "worker"], words
    context: click.Context = command.make_context("worker", words[2:])
    return context.params


def faults(found: Manifest) -> Iterator[str]:
    """Yield what is wrong with a manifest: its keys, its names, and its times."""
    for kind, one in found.kinds.items():
        version, spec = BY_KIND[kind]
        parts = {"apiVersion": {"const": version}, "kind": TEXT, "metadata": META} | ({"spec": spec} if spec else {})
        wrong = [*jsonschema.Draft202012Validator(_object(*parts, **parts)).iter_errors(one)]
        if wrong:
            yield from (f"{kind}: {error.json_path}: {error.message}" for error in wrong)
            return
    if set(found.kinds) != set(BY_KIND):
        yield f"it has {sorted(found.kinds)}"
        return
    yield from _names(found)
    yield from _times(found)


def _names(found: Manifest) -> Iterator[str]:
    deployment, scaled = found.kinds["Deployment"], found.kinds["ScaledObject"]["spec"]
    if deployment["spec"]["selector"]["matchLabels"] != deployment["spec"]["template"]["metadata"]["labels"]:
        yield "the Deployment selects other pods than its own"
    if scaled["scaleTargetRef"]["name"] != deployment["metadata"]["name"]:
        yield "KEDA scales something else"
    if scaled["triggers"][0]["authenticationRef"]["name"] != found.kinds["TriggerAuthentication"]["metadata"]["name"]:
        yield "the trigger has no credentials"
    if found.pod["serviceAccountName"] != found.kinds["ServiceAccount"]["metadata"]["name"]:
        yield "the pods have another service account"
    given = {one["name"]: one["value"] for one in found.container["env"]}
    host, _, port = given.get("SEDANO_HEALTH", "").rpartition(":")
    ports = {one["name"]: one["containerPort"] for one in found.container["ports"]}
    asked = {found.container[f"{probe}Probe"]["httpGet"]["port"] for probe in ("liveness", "readiness", "startup")}
    if host != "0.0.0.0" or {str(ports.get(name)) for name in asked} != {port}:  # noqa: S104 - the kubelet asks the pod's own address
        yield "the kubelet asks where the worker does not listen"
    if found.container["livenessProbe"]["httpGet"]["path"] != "/live" or found.container["readinessProbe"]["httpGet"]["path"] != "/ready":
        yield "the kubelet asks for another answer than it needs"


def _times(found: Manifest) -> Iterator[str]:
    asked, scaled = options(found.container["command"]), found.kinds["ScaledObject"]["spec"]
    if found.pod["terminationGracePeriodSeconds"] < asked["drain"] + TO_END_S:
        yield "the kubelet kills the worker before its drain is over"
    if int(scaled["triggers"][0]["metadata"]["queueLength"]) != asked["concurrency"] * asked["processes"]:
        yield "KEDA counts other messages for each pod than it has lanes"
    if asked["queues"] and not scaled["triggers"][0]["metadata"]["queueURL"].endswith(f"-{asked['queues']}"):
        yield "KEDA looks at another queue"
    if scaled["minReplicaCount"] > scaled["maxReplicaCount"]:
        yield "KEDA has no room"


def unit() -> configparser.RawConfigParser:
    """Return the systemd unit as it is in the repository."""
    parsed = configparser.RawConfigParser(strict=True, comment_prefixes=("#",), inline_comment_prefixes=())
    parsed.optionxform = str  # type: ignore[assignment, method-assign]
    parsed.read_string((FILES / "shop-worker.service").read_text(encoding="utf-8"))
    return parsed


def faults_of_unit(found: configparser.RawConfigParser) -> Iterator[str]:
    """Yield what is wrong with a unit."""
    service, words = found["Service"], found["Service"]["ExecStart"].split()
    asked = options(["sedano", *words[1:]])
    wanted = {"Type": "notify", "NotifyAccess": "main", "KillMode": "mixed", "KillSignal": "SIGTERM", "Restart": "always"}
    yield from (f"{name} is {service.get(name)}" for name, value in wanted.items() if service.get(name) != value)
    if float(service["TimeoutStopSec"]) < asked["drain"] + TO_END_S:
        yield "systemd kills the worker before its drain is over"
    if not 0 < float(service.get("WatchdogSec", "0")) <= 60:
        yield "systemd does not look whether the worker moves"
    if service.get("DynamicUser") != "yes" or service.get("NoNewPrivileges") != "yes" or service.get("ProtectSystem") != "strict":
        yield "the worker has rights that it does not need"
