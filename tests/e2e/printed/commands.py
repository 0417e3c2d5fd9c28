"""Commands in texts: where they begin and end, and whether their programs have such flags."""

import functools
import os
import pathlib
import re
import shlex
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]
BIN = pathlib.Path(os.environ.get("HONE_BUILD", ROOT / "build")) / "bin"
COMMANDS = {  # of each program; other words behind its name are files
    "tensorc": {"run"},
    "tuner": set(),
    "tophub": {"best", "why", "list", "stats", "export", "import", "merge", "sync", "check", "train", "pack", "push",
               "pull", "verify", "diff", "serve"},
    "tracker": {"status", "drain", "resume", "quarantine", "cancel", "init-tls"},
    "device-agent": set(),
}


def _second_word(program):
    files = r"|(?:[A-Z]|[\w./-]*[\w/-]\.)[\w./|-]*|'" if program in ("tensorc", "tuner") else ""
    return rf"{program} (?=(?:{'|'.join([*sorted(COMMANDS[program]), '--?[a-z]'])}{files}))"


# A program's name and an argument that it takes: sentences have other words there.
PROGRAM = "|".join(_second_word(program) for program in COMMANDS)
# It stands at the beginning of a line, behind a label of a report or help, or in backticks.
START = re.compile(rf"(?:^[ #]*(?:next +|Example: )?|`|[:;] )(?=(?:{PROGRAM}))", re.M)


def _to_the_end(text, begin):
    """From there to a backtick, two blanks, `: `, `; `, ` (` or the line's end, outside of quotes."""
    quoted = False
    for at in range(begin, len(text)):
        quoted ^= text[at] == "'" and (quoted or text[at - 1] != "\\")
        if text[at] == "\n" or not quoted and (text[at] == "`" or text[at : at + 2] in ("  ", ": ", "; ", " (")):
            return text[begin:at].rstrip()
    return text[begin:].rstrip()


def commands_in(text):
    """The commands of what a program printed, in their order; `tophub best [OPTIONS]` is none."""
    found = [_to_the_end(text, start.end()) for start in START.finditer(text)]
    return [command for command in found if " [" not in command]


def flags_to_give(text):
    """The flags that a refusal asks for: those behind `give`, or those that a line has alone."""
    return [_to_the_end(text, m.end()) for m in re.finditer(r"\bgive (?:\w+: )?(?=--)|^(?=--)", text, re.M)]


@functools.lru_cache(maxsize=None)
def help_of(*words):
    ran = subprocess.run([BIN / words[0], *words[1:], "--help", "all"], capture_output=True, text=True, timeout=60)
    return ran.stdout if ran.returncode == 0 else ""


def what_is_wrong(words):
    """Why a command cannot be as it stands there; empty: its program, command and flags exist."""
    program = pathlib.PurePath(words[0]).name
    called = (program,)
    if len(words) > 1 and COMMANDS[program] and re.fullmatch(r"[a-z][a-z-]*", words[1]):
        if words[1] not in COMMANDS[program]:
            return f"{program} has no command {words[1]}"
        called = (program, words[1])
    text = help_of(*called)
    if not text:
        return f"{' '.join(called)} has no help"
    text += help_of(program)  # a program's own flags may stand behind its commands
    for word in words[1:]:
        flag = re.match(r"(--[a-z][a-z-]*|-[a-zA-Z])(?:$|=)", word)
        if flag and not re.search(rf"(?m)(^|[\s,]){re.escape(flag[1])}([\s,:\[]|$)", text):
            return f"{' '.join(called)} has no {flag[1]}"
    return ""


def words_of(command):
    """The words of a command as a text has it: with comments, pipes and ellipses left out."""
    try:
        words = shlex.split(command, comments=True)
    except ValueError:  # a text cut off inside quotes
        words = command.split()
    for end in ("|", "||", "&&", "&", ";", ">", ">>", "<", "2>"):
        if end in words:
            words = words[: words.index(end)]
    return words
