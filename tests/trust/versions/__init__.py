"""Versions of one application, and the layer of each on a stage that runs."""

import io
import runpy
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from sedano.local import LocalStage

HERE = Path(__file__).parent
ONE, TWO = HERE / "one", HERE / "two"
UNWELL, BROKEN, AHEAD = HERE / "unwell", HERE / "broken", HERE / "ahead"

LIVE = "live"
PATIENCE_S = 120


@contextmanager
def client_of(version: Path) -> Iterator[Any]:
    """The application of a version, imported here as a client does, while the block runs."""
    client = SimpleNamespace(**runpy.run_path(str(version / "shop.py"), run_name="shop"))
    try:
        yield client
    finally:
        client.app.close()


class Releases:
    """What `cdk deploy` changes on a stage when only the application's code changed: a layer, and the functions that stand on it."""

    def __init__(self, stage: LocalStage, deployed: Path) -> None:
        """`deployed` is the version that the stage was deployed with."""
        self._lambda: Any = stage.endpoint.session().client("lambda", endpoint_url=stage.endpoint.url)
        self._functions = [function["FunctionName"] for function in self._lambda.list_functions()["Functions"]]
        first = self._lambda.get_function_configuration(FunctionName=self._functions[0])
        layers = [str(layer["Arn"]) for layer in first["Layers"]]
        (application,) = (layer for layer in layers if "Application" in layer)
        self._others = [layer for layer in layers if layer != application]
        self._layers = {deployed: application}

    def _layer(self, version: Path) -> str:
        if version not in self._layers:
            packed = io.BytesIO()
            with zipfile.ZipFile(packed, "w") as archive:
                archive.write(version / "shop.py", "python/shop.py")
            made = self._lambda.publish_layer_version(LayerName="shop", Content={"ZipFile": packed.getvalue()})
            self._layers[version] = str(made["LayerVersionArn"])
        return self._layers[version]

    def release(self, version: Path) -> None:
        """Let every function run `version` from its next invocation on."""
        for function in self._functions:
            self._lambda.update_function_configuration(FunctionName=function, Layers=[*self._others, self._layer(version)])

    def behind_aliases(self) -> None:
        """Let events go to an alias of each function, as in production: what runs when a version is let in ends as it began."""
        for function in self._functions:
            self._lambda.create_alias(FunctionName=function, Name=LIVE, FunctionVersion=self.kept(function))
        for mapping in self._lambda.list_event_source_mappings()["EventSourceMappings"]:
            self._lambda.update_event_source_mapping(UUID=mapping["UUID"], FunctionName=f"{mapping['FunctionArn']}:{LIVE}")

    def let_in(self, version: Path) -> None:
        """Let events go to `version`."""
        self.release(version)
        for function in self._functions:
            self._lambda.update_alias(FunctionName=function, Name=LIVE, FunctionVersion=self.kept(function))

    def kept(self, function: str) -> str:
        """The number of a version of the function that stays as it is now, whatever is released."""
        return str(self._lambda.publish_version(FunctionName=function)["Version"])

    def patient(self, function: str) -> str:
        """The same, of one that may run for two minutes."""
        seconds = self._lambda.get_function_configuration(FunctionName=function)["Timeout"]
        self._lambda.update_function_configuration(FunctionName=function, Timeout=PATIENCE_S)
        version = self.kept(function)
        self._lambda.update_function_configuration(FunctionName=function, Timeout=seconds)
        return version

    @contextmanager
    def environment(self, more: Mapping[str, str]) -> Iterator[None]:
        """Every function has `more` in its environment while the block runs."""
        before = {name: self._lambda.get_function_configuration(FunctionName=name)["Environment"]["Variables"] for name in self._functions}
        for name, variables in before.items():
            self._lambda.update_function_configuration(FunctionName=name, Environment={"Variables": {**variables, **more}})
        try:
            yield
        finally:
            for name, variables in before.items():
                self._lambda.update_function_configuration(FunctionName=name, Environment={"Variables": variables})
