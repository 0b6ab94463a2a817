"""A project in the folder of its user, the Python of the environment in which the package is installed, and what its commands see."""

import hashlib
import hmac
import http.client
import os
import pty
import subprocess
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from tests.stories.dev_project import SECONDS, DevProject

TILL = """

@app.event
class Paid:
    number: str


@app.webhook("till", verify=hmac_sha256(header="X-Signature", prefix="sha256="))
def till(request: WebhookRequest) -> Paid:
    return Paid(number=request.field("number"))


@Paid.subscribe
@app.task
def receipt(number: str) -> str:
    return f"receipt {number}"


@app.task(retry=Retry(max_retries=0))
def broken(name: str) -> str:
    raise ValueError(f"no greeting for {name}")
"""
IMPORTS = "from sedano import Retry, Sedano\nfrom sedano.webhooks import WebhookRequest, hmac_sha256\n"
SECRET = "of the till"


class Folder(NamedTuple):
    """The user's project, the Python of its environment, and the variables that its commands see."""

    path: Path
    python: Path
    environment: dict[str, str]

    def python_says(self, *words: str, ends_with: int = 0, **more: str) -> subprocess.CompletedProcess[str]:
        """Run the environment's Python in the folder, without a terminal."""
        command, environment = [str(self.python), *words], {**self.environment, **more}
        done = subprocess.run(command, cwd=self.path, env=environment, input="", capture_output=True, text=True, check=False)
        assert done.returncode == ends_with, done.stdout + done.stderr
        return done

    def sedano(self, *words: str, ends_with: int = 0, **more: str) -> subprocess.CompletedProcess[str]:
        """Give one command of sedano."""
        return self.python_says("-m", "sedano", *words, ends_with=ends_with, **more)

    def answers(self, answer: str, *words: str) -> int:
        """Give one command of sedano on a terminal, with the answer to its question; return its exit code."""
        ours, theirs = pty.openpty()
        os.write(ours, f"{answer}\n".encode())
        command = [str(self.python), "-m", "sedano", *words]
        try:
            done = subprocess.run(command, cwd=self.path, env=self.environment, stdin=theirs, capture_output=True, text=True, check=False)
        finally:
            os.close(ours)
            os.close(theirs)
        assert "Deploy the stage dev? Type y for yes" in done.stderr
        return done.returncode

    def edit(self, file: str, before: str, after: str) -> None:
        """Replace a text that *file* has once."""
        path = self.path / file
        text = path.read_text()
        assert text.count(before) == 1, text
        path.write_text(text.replace(before, after))

    def add_till(self) -> None:
        """Add a webhook with its event and task, its secret, and a task that fails, as a user does."""
        self.edit("shop/tasks.py", "from sedano import Sedano\n", IMPORTS)
        tasks = self.path / "shop" / "tasks.py"
        tasks.write_text(tasks.read_text() + TILL)
        settings = self.path / "pyproject.toml"
        settings.write_text(f'{settings.read_text()}\n[tool.sedano.dev.secrets]\ntill = "{SECRET}"\n')


class DevAtHome(DevProject):
    """`sedano dev` of the installed package, in the folder of its user."""

    def __init__(self, folder: Folder) -> None:
        """Use the project as it is."""
        super().__init__(folder.path, write=False, python=str(folder.python))
        self._variables = folder.environment

    @property
    def environment(self) -> dict[str, str]:
        """The variables of the user, without those of the account."""
        return {name: value for name, value in self._variables.items() if not name.startswith("AWS_")}


def post(address: str, number: str, secret: str = SECRET) -> int:
    """Post an order to the webhook at *address*, signed; return the status of the answer."""
    url, body = urlsplit(address), f'{{"number": "{number}"}}'.encode()
    signature = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    connection = http.client.HTTPConnection(url.hostname or "", url.port or 0, timeout=SECONDS)
    connection.request("POST", url.path, body, {"X-Signature": f"sha256={signature}"})
    status = connection.getresponse().status
    connection.close()
    return status
