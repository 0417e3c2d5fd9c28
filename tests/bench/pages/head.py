"""The lines above a table: machine, date, commit, command, and what was measured beside."""

import os
import pathlib
import platform
import re
import subprocess

from pages.blocks import Refused

ROOT = pathlib.Path(__file__).resolve().parents[3]
VERSIONS = re.compile(r"\b(ONNX Runtime|TensorFlow Lite|oneDNN|OpenBLAS|cuDNN|cuBLAS) v?(\d+(?:\.\d+)+)")
VECTORS = {"avx512f": "AVX-512", "avx2": "AVX2", "sve": "SVE", "asimd": "NEON"}


def git(*words):
    """The output of git in this tree; None where there is no git."""
    try:
        ran = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return ran.stdout if ran.returncode == 0 else None


def is_in_git():
    top = git("rev-parse", "--show-toplevel")
    return top is not None and pathlib.Path(top.strip()) == ROOT


def commit_text():
    """`1234abcd`, with `and changes` where code is not as in that commit: pages do not count, nor do new files in
    folders that git does not know."""
    if not is_in_git():
        archived = ROOT / "cmake" / "archived_commit.txt"
        known = re.match(r"[0-9a-f]{7,40}\b", archived.read_text()) if archived.is_file() else None
        if not known:
            raise Refused("the commit is not known: this is neither git's work tree nor an archive of one")
        return known[0][:8]
    head = git("rev-parse", "--short=8", "HEAD")
    if not head:
        raise Refused("there is no commit yet")
    folders = set(git("ls-tree", "-d", "--name-only", "HEAD").split("\n"))
    for line in git("status", "--porcelain", "--no-renames").splitlines():
        state, path = line[:2], line[3:].strip('"')
        if path.endswith(".md") or path.startswith("docs/"):
            continue
        if state != "??" or path.split("/")[0] in folders:
            return head.strip() + " and changes"
    return head.strip()


def machine_text():
    """`AMD EPYC (family 25, model 17, AVX-512), 2 of 8 cores, 16 GiB`: the cores that this process may use."""
    about = {}
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        about.setdefault(key.strip(), value.strip())
    board = pathlib.Path("/proc/device-tree/model")
    name = about.get("model name") or (board.read_text().strip("\0\n ") if board.is_file() else platform.machine())
    details = [f"{key.split()[-1]} {about[key]}" for key in ("cpu family", "model") if key in about]
    features = (about.get("flags") or about.get("Features") or "").split()
    details += [text for flag, text in VECTORS.items() if flag in features][:1]
    text = f"{name} ({', '.join(details)})" if details else name
    cores = len(os.sched_getaffinity(0))
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{text}, {cores} of {os.cpu_count()} cores, {gib:.0f} GiB"


def cell(text):
    return re.sub(r"(?<!\\)\|", r"\\|", text)


def head(machine, date, commit, command, beside):
    """The lines of the table that stands above a benchmark's."""
    code = "``" if "`" in command else "`"
    rows = [("newest table", ""), ("---", "---"), ("machine", machine), ("date, commit", f"{date}, {commit}"),
            ("command", f"{code}{command}{code}")]
    if beside:
        rows.append(("beside", beside))
    return [f"| {name} | {cell(text)} |".replace("|  |", "| |") for name, text in rows]


def beside_text(output, said):
    """Versions of peers: what the benchmark printed of them, and what the caller said."""
    found = [f"{name} {version}" for name, version in VERSIONS.findall(output)]
    return ", ".join(dict.fromkeys(found + ([said] if said else [])))
