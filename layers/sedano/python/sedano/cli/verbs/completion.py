"""`sedano completion SHELL`: the script that completes verbs and options in a shell. Completing calls no AWS service.

source <(sedano completion bash)
"""

from __future__ import annotations

import click
from click.shell_completion import ShellComplete, get_completion_class

from sedano.cli.printer import say_text

HELP = """Print the script that completes verbs and options.

Bash: put source <(sedano completion bash) into ~/.bashrc. Zsh: the same with zsh in ~/.zshrc. Fish: sedano completion fish >
~/.config/fish/completions/sedano.fish."""


@click.command(help=HELP)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the script."""
    kind = get_completion_class(shell) or ShellComplete
    made = kind(context.find_root().command, {}, "sedano", "_SEDANO_COMPLETE")
    say_text(ShellComplete.source(made).strip())
