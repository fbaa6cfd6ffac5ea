"""Completion of the command line in bash, and in zsh by way of its bash compatibility."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

_BASH = """\
_membership_client() {{
    local path="" word words=""
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$path $word" in
            {paths}) path="$path $word" ;;
        esac
    done
    case "$path" in
{words}
    esac
    COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _membership_client membership-client
"""
_ZSH = "autoload -U +X bashcompinit && bashcompinit\n"


def script(shell: str, parser: argparse.ArgumentParser) -> str:
    """What to `eval` in bash or zsh. Where no word fits, the shell completes file names."""
    found = dict(_words(parser, ""))
    paths = "|".join(f'"{path}"' for path in found if path)
    words = "\n".join(f'        "{path}") words="{" ".join(offered)}" ;;' for path, offered in found.items())
    return (_ZSH if shell == "zsh" else "") + _BASH.format(paths=paths, words=words)


def _words(parser: argparse.ArgumentParser, path: str) -> Iterator[tuple[str, list[str]]]:
    """For each command, such as " groups list", what may follow it."""
    # argparse offers no other way to look at what it was told.
    actions = parser._actions  # noqa: SLF001
    yield path, [str(word) for action in actions for word in action.option_strings or action.choices or ()]
    for action in actions:
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for name, command in action.choices.items():
                yield from _words(command, f"{path} {name}")
