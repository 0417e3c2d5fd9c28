"""The blocks of a page that benchmarks write: found, chosen by a command, replaced."""

import collections
import dataclasses
import os
import pathlib
import re
import shlex
import tempfile

BEGIN = re.compile(r"<!-- written by: (\S.*?) -->")
END = "<!-- end -->"
# A line that was meant as a marker, whether it is one or not.
MEANT = re.compile(r"\s*<!--\s*(written\s+by\b|end\s*(-->|$))", re.I)
FENCE = re.compile(r" {0,3}(```+|~~~+)")


class Refused(Exception):
    """Why something cannot be done, in one line for people; the page is as it was."""


@dataclasses.dataclass
class Block:
    first: int  # the marker's line, from 0
    last: int  # the end's line
    command: list  # the marker's words

    @property
    def program(self):
        return pathlib.Path(self.command[0]).name


def read(page):
    """Its text with the ends of lines that it has."""
    return page.read_bytes().decode()


def parse(text):
    """The blocks of a page, and (line, what is wrong) of its markers."""
    blocks, wrong, fence, begun = [], [], "", None
    for number, line in enumerate(text.split("\n")):
        fenced = FENCE.match(line)
        if fence:
            if fenced and fenced[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            continue
        if fenced:
            fence = fenced[1]
            continue
        if not MEANT.match(line):
            continue
        marker = BEGIN.fullmatch(line)
        if marker:
            if begun:
                wrong.append((begun.first, f"no {END} follows before line {number + 1}"))
            begun = None
            try:
                begun = Block(number, -1, shlex.split(marker[1]))
            except ValueError as error:
                wrong.append((number, f"the marker's command cannot be read: {error}"))
        elif line == END and begun:
            begun.last = number
            blocks.append(begun)
            begun = None
        elif line == END:
            wrong.append((number, f"{END} without a beginning"))
        else:
            wrong.append((number, f"no marker: `<!-- written by: COMMAND -->` and `{END}` stand alone on their lines"))
    if begun:
        wrong.append((begun.first, f"no {END} follows"))
    return blocks, wrong


def block_for(page, text, command):
    """The block that `command` writes."""
    blocks, wrong = parse(text)
    if wrong:
        raise Refused(f"{page}:{wrong[0][0] + 1}: {wrong[0][1]}")
    words = collections.Counter(command[1:])
    fitting = [block for block in blocks if block.program == pathlib.Path(command[0]).name
               and not collections.Counter(block.command[1:]) - words]
    if not fitting:
        named = "; ".join(shlex.join(block.command) for block in blocks) or "none"
        raise Refused(f"{page} has no block for this command, but for: {named}. A new one is the line "
                      f"`<!-- written by: {shlex.join(command)} -->` and the line `{END}` where the table is to stand")
    most = max(len(block.command) for block in fitting)
    fitting = [block for block in fitting if len(block.command) == most]
    if len(fitting) > 1:
        lines = " and ".join(str(block.first + 1) for block in fitting)
        raise Refused(f"{page}: the blocks of lines {lines} both fit this command; their markers need more words")
    return fitting[0]


def replace(page, command, lines):
    """Writes the command's block anew. The page is read again: it may have been edited while the benchmark ran."""
    text = read(page)
    block = block_for(page, text, command)
    if any(MEANT.match(line) for line in lines):
        raise Refused("the benchmark printed a line like a marker")
    old = text.split("\n")
    new = "\n".join([*old[:block.first + 1], "", *lines, "", *old[block.last:]])
    handle, name = tempfile.mkstemp(dir=page.parent, prefix=page.name)
    try:
        with open(handle, "wb") as out:
            out.write(new.encode())
        os.chmod(name, page.stat().st_mode)
        os.replace(name, page)
    except BaseException:
        os.unlink(name)
        raise
