"""`completion`: the script that a shell needs to complete verbs, options, keys and names."""

from __future__ import annotations

import os

import click
from click.shell_completion import get_completion_class, shell_complete

from forebay.commands.streams import say_lines
from forebay.commands.verb import verb

__all__ = ["VARIABLE", "answer", "completion"]

#: Environment variable that the shell sets when it asks for completions.
VARIABLE = "_FOREBAY_COMPLETE"

#: Bash adds no space after a key that expects its value.
_NO_SPACE = '    [[ "${COMPREPLY[*]}" == *= ]] && compopt -o nospace\n'


#: The words of the command line as click's script passes them on.
_AS_SPLIT = 'COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD'
_JOINED = 'COMP_WORDS="${words[*]}" COMP_CWORD=$((${#words[@]} - 1))'
#: Bash splits words at @, as in addresses; here @ is the first character of a name.
_JOIN = """\
    local words=() word
    for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
        if [[ ${#words[@]} -gt 0 && ${words[-1]} == @ ]]; then words[-1]+=$word; else words+=("$word"); fi
    done

"""


@verb(
    ("completion bash > ~/.local/share/bash-completion/completions/forebay", "Install for bash:"),
    ("completion zsh > ~/.zfunc/_forebay", "Install for zsh, if ~/.zfunc is in fpath:"),
    ("completion fish > ~/.config/fish/completions/forebay.fish", "Install for fish:"),
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a shell script that completes verbs, options and names."""
    kind = get_completion_class(shell)
    assert kind is not None, "click knows these shells"
    script = kind(click.Group("forebay"), {}, "forebay", VARIABLE).source()
    if shell == "bash":
        for before, after in (
            ("    return 0\n", f"{_NO_SPACE}    return 0\n"),
            (_AS_SPLIT, _JOINED),
            ("    response=$(", f"{_JOIN}    response=$("),
        ):
            assert before in script, "as click writes it"
            script = script.replace(before, after)
    say_lines(script)


def answer(cli: click.Group) -> int:
    """Answer a shell that asks for completions, and return the exit code."""
    return shell_complete(cli, {}, "forebay", VARIABLE, os.environ[VARIABLE])
