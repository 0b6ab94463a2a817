"""`sedano completion SHELL`: the script that completes verbs and options in a shell. Completion calls no AWS service.

source <(sedano completion bash)
"""

from __future__ import annotations

import click
from click.shell_completion import ShellComplete, get_completion_class

from sedano.cli.options import as_json
from sedano.cli.printer import say_json, say_text

HELP = """Print the script that completes verbs and options.

Bash: put source <(sedano completion bash) into ~/.bashrc. Zsh: the same with zsh in ~/.zshrc. Fish: sedano completion fish >
~/.config/fish/completions/sedano.fish."""


@click.command(help=HELP)
@click.argument("shell", metavar="SHELL", type=click.Choice(["bash", "zsh", "fish"]))
@as_json
@click.pass_context
def command(context: click.Context, shell: str, as_json: bool) -> None:
    """Print the script."""
    kind = get_completion_class(shell) or ShellComplete
    made = kind(context.find_root().command, {}, "sedano", "_SEDANO_COMPLETE")
    script = ShellComplete.source(made).strip()
    say_json({"shell": shell, "script": script}) if as_json else say_text(script)
