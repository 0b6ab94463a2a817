"""Pinned packages become a directory for Lambda: wheels for its processor, chosen by hash, the same on every machine."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from infra import packages
from infra.assets import AssetError
from infra.packages import here, is_compiled, packages_for
from infra.pins import LAMBDA, read
from tests.infra.test_native import elf

PURE, ARM, INTEL = "py3-none-any", "cp313-cp313-manylinux2014_aarch64", "cp313-cp313-manylinux2014_x86_64"


class Shelf:
    """A folder of wheels made here, and a requirements file that pins some of them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory / "wheels"
        self.directory.mkdir()
        self.file = directory / "requirements.txt"
        self.cache = directory / "cache"

    def wheel(self, name: str, tag: str = PURE, *, module: bytes = b"", needs: str = "") -> str:
        """Put a wheel on the shelf; return its pin."""
        path = self.directory / f"{name}-1.0-{tag}.whl"
        required = f"Requires-Dist: {needs}\n" if needs else ""
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(f"{name}/{'__init__.py' if tag == PURE else 'fast.so'}", module)
            archive.writestr(f"{name}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{required}")
            archive.writestr(f"{name}-1.0.dist-info/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n")
            archive.writestr(f"{name}-1.0.dist-info/RECORD", "")
        return f"{name}==1.0 --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"

    def pin(self, *lines: str) -> Path:
        """Write the requirements file."""
        self.file.write_text("\n".join(["--no-index", "--find-links wheels", *lines, ""]))
        return self.file


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    """An empty shelf."""
    return Shelf(tmp_path)


def _files(directory: Path) -> set[str]:
    return {path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()}


def test_the_wheel_for_lambda_is_taken_on_whatever_machine(shelf: Shelf) -> None:
    shelf.wheel("quick", INTEL, module=elf(0x3E))
    found = packages_for(shelf.pin(shelf.wheel("quick", ARM, module=elf(0xB7))), LAMBDA, shelf.cache)
    assert found is not None
    assert _files(found) == {"python/quick/fast.so", "python/quick-1.0.dist-info/METADATA", "python/quick-1.0.dist-info/WHEEL"}
    assert (found / "python/quick/fast.so").read_bytes() == elf(0xB7)
    assert is_compiled(found)


def test_the_same_pins_are_the_same_directory_and_are_installed_once(shelf: Shelf) -> None:
    one, two = shelf.wheel("one"), shelf.wheel("two")
    first = packages_for(shelf.pin(one, two), LAMBDA, shelf.cache)
    assert first is not None
    (first / "python" / "mark").touch()
    again = packages_for(shelf.pin("# in another order", two, one), LAMBDA, shelf.cache)
    assert again == first
    assert (again / "python" / "mark").exists()
    assert packages_for(shelf.pin(one), LAMBDA, shelf.cache) != first
    assert packages_for(shelf.pin(one, two), here(), shelf.cache) != first
    assert not is_compiled(first)


def test_markers_are_judged_for_lambda_and_not_for_this_machine(shelf: Shelf) -> None:
    lines = [
        shelf.wheel("arm").replace(" --hash", " ; platform_machine == 'aarch64' --hash"),
        shelf.wheel("old").replace(" --hash", " ; python_version < '3.12' --hash"),
        shelf.wheel("mac").replace(" --hash", " ; sys_platform == 'darwin' --hash"),
    ]
    assert list(read(shelf.pin(*lines), LAMBDA, {}).packages) == ["arm"]


def test_what_the_layer_brings_is_not_brought_twice(shelf: Shelf) -> None:
    name, version = next(iter(packages.brought().items()))
    digest = "0" * 64
    assert packages_for(shelf.pin(f"{name}=={version} --hash=sha256:{digest}", "sedano==9.9"), LAMBDA, shelf.cache) is None
    with pytest.raises(AssetError, match=rf"^requirements.txt: pins {name} 0.1, and the library's layer has {version}: pin that"):
        packages_for(shelf.pin(f"{name}==0.1 --hash=sha256:{digest}"), LAMBDA, shelf.cache)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("requests", "requests is not pinned with == and its hashes"),
        ("requests==2.32.3", "requests is not pinned with == and its hashes"),
        ("requests>=2 --hash=sha256:00", "requests is not pinned with == and its hashes"),
        ("requests==2.* --hash=sha256:00", "requests is not pinned with == and its hashes"),
        ("requests @ https://example.org/requests.whl --hash=sha256:00", "requests is not pinned with == and its hashes"),
        ("-r more.txt", "'-r more.txt' cannot be used: one file pins every package"),
        ("-e .", "'-e .' cannot be used"),
        ("requests==", "'requests==' is not a requirement"),
        ("!?", "'!?' is not a requirement"),
    ],
)
def test_a_line_that_could_mean_something_else_tomorrow_is_refused(shelf: Shelf, line: str, said: str) -> None:
    with pytest.raises(AssetError) as refused:
        packages_for(shelf.pin(line), LAMBDA, shelf.cache)
    assert str(refused.value).startswith(f"requirements.txt: {said}")
    assert "`uv pip compile --generate-hashes requirements.in -o requirements.txt` writes such a file" in str(refused.value)


def test_the_file_of_a_pinning_tool_is_understood(shelf: Shelf) -> None:
    digest = shelf.wheel("one").split(" --hash=")[1]
    text = f"# made by a tool\none==1.0 \\\n    --hash={digest} \\\n    --hash=sha256:{'1' * 64}\n    # via shop\n"
    assert packages_for(shelf.pin(text), LAMBDA, shelf.cache) is not None


def test_a_package_whose_needs_nobody_pinned_is_refused(shelf: Shelf) -> None:
    with pytest.raises(AssetError, match=r"^requirements.txt: one needs two>=1, which is not pinned there: pin it with its hashes too"):
        packages_for(shelf.pin(shelf.wheel("one", needs="two>=1")), LAMBDA, shelf.cache)
    assert not list(shelf.cache.iterdir()), "nothing half made is left"


@pytest.mark.parametrize("need", ["boto3>=1.40", "two; python_version < '3.12'", "two; extra == 'fast'", "aws-lambda-powertools"])
def test_what_lambda_has_and_what_does_not_apply_need_not_be_pinned(shelf: Shelf, need: str) -> None:
    assert packages_for(shelf.pin(shelf.wheel("one", needs=need)), LAMBDA, shelf.cache) is not None


def test_a_wheel_that_claims_to_be_pure_and_is_not_is_refused(shelf: Shelf) -> None:
    with pytest.raises(AssetError, match=r"fast.so is compiled for x86_64, and the functions run on aarch64: pin a version"):
        packages_for(shelf.pin(shelf.wheel("liar", "py3-none-manylinux2014_aarch64", module=elf(0x3E))), LAMBDA, shelf.cache)


def test_other_bytes_than_those_that_were_pinned_are_refused(shelf: Shelf) -> None:
    line = shelf.wheel("one")
    shelf.wheel("one", module=b"changed")
    with pytest.raises(AssetError, match=r"(?s)installing requirements.txt for the layer failed:.*DO NOT MATCH THE HASHES") as refused:
        packages_for(shelf.pin(line), LAMBDA, shelf.cache)
    assert str(refused.value).startswith("requirements.txt: pip cannot install a pinned package, for the reason below: correct the pin, or")


def test_a_package_that_is_pinned_twice_is_refused_unless_the_other_is_for_another_machine(shelf: Shelf) -> None:
    digest = f"--hash=sha256:{'0' * 64}"
    with pytest.raises(AssetError, match=r"^requirements.txt: pins one twice, differently: keep one of the two\. `uv pip compile"):
        read(shelf.pin(f"one==1.0 {digest}", f"One==2.0 {digest}"), LAMBDA, {})
    apart = [f"one==1.0 ; sys_platform == 'darwin' {digest}", f"one==2.0 ; sys_platform != 'darwin' {digest}"]
    assert read(shelf.pin(*apart), LAMBDA, {}).packages == {"one": f"one==2.0 {digest}"}
    assert read(shelf.pin(f"one==2.0 {digest}", f"one==2.0 {digest}"), LAMBDA, {}).packages == {"one": f"one==2.0 {digest}"}


def test_a_file_that_is_no_text_in_utf8_is_refused_and_a_mark_at_its_beginning_is_none_of_it(shelf: Shelf) -> None:
    line = f"one==1.0 --hash=sha256:{'0' * 64}"
    shelf.file.write_text(line, encoding="utf-16")
    with pytest.raises(AssetError, match=r"^requirements.txt: is not text in UTF-8, which some shells do not write with `>`: save"):
        read(shelf.file, LAMBDA, {})
    shelf.file.write_text(line, encoding="utf-8-sig")
    assert read(shelf.file, LAMBDA, {}).packages == {"one": line}
