#!/usr/bin/env python3
"""Runs a command under the system call filter that a systemd unit asks for: as_unit.py UNIT COMMAND...

Where there is no systemd to start the unit, this shows that the filter lets the program do its work. It applies what
can be applied by an ordinary process: SystemCallFilter=, MemoryDenyWriteExecute=, RestrictNamespaces=,
NoNewPrivileges=.
"""
import ctypes
import os
import re
import subprocess
import sys

EPERM = 1
SCMP_ACT_ALLOW = 0x7FFF0000
SCMP_ACT_ERRNO = 0x00050000 | EPERM
SCMP_CMP_MASKED_EQ = 7
PROT_WRITE, PROT_EXEC, SHM_EXEC = 2, 4, 0o100000
NAMESPACES = {'cgroup': 0x02000000, 'ipc': 0x08000000, 'net': 0x40000000, 'mnt': 0x00020000, 'pid': 0x20000000,
              'user': 0x10000000, 'uts': 0x04000000}


class Compare(ctypes.Structure):
    _fields_ = [('argument', ctypes.c_uint), ('op', ctypes.c_int), ('a', ctypes.c_uint64), ('b', ctypes.c_uint64)]


def settings(unit):
    """(name, value) of each line, in order."""
    with open(unit, encoding='utf-8') as file:
        return re.findall(r'^([A-Za-z]+)=(.*)$', file.read(), re.MULTILINE)


def calls_of(group):
    text = subprocess.run(
        ['systemd-analyze', 'syscall-filter', group], check=True, capture_output=True, text=True).stdout
    out = set()
    for word in (line.strip() for line in text.splitlines()[1:]):
        if word.startswith('@'):
            out |= calls_of(word)
        elif word and not word.startswith('#'):
            out.add(word)
    return out


def allowed_calls(unit):
    """The calls that SystemCallFilter= leaves: the first line is a list of what is allowed, those with ~ take away."""
    allowed = calls_of('@default')
    for name, value in settings(unit):
        if name != 'SystemCallFilter':
            continue
        words = value.lstrip('~').split()
        calls = set().union(*(calls_of(w) if w.startswith('@') else {w} for w in words))
        allowed = allowed - calls if value.startswith('~') else allowed | calls
    return allowed


def apply(unit):
    lib = ctypes.CDLL('libseccomp.so.2', use_errno=True)
    lib.seccomp_init.restype = ctypes.c_void_p
    lib.seccomp_syscall_resolve_name.argtypes = [ctypes.c_char_p]
    # Two filters; the kernel applies the stricter of their answers. The one by name comes last, because it may forbid
    # to load another.
    chosen = dict(settings(unit))
    context = ctypes.c_void_p(lib.seccomp_init(SCMP_ACT_ALLOW))

    def deny(call, argument, mask, value):
        compare = Compare(argument, SCMP_CMP_MASKED_EQ, mask, value)
        if lib.seccomp_rule_add_array(
                context, SCMP_ACT_ERRNO, lib.seccomp_syscall_resolve_name(call), 1, ctypes.byref(compare)) != 0:
            sys.exit(f'as_unit: no rule for {call}')

    if chosen.get('MemoryDenyWriteExecute') == 'yes':
        deny(b'mmap', 2, PROT_WRITE | PROT_EXEC, PROT_WRITE | PROT_EXEC)
        deny(b'mprotect', 2, PROT_EXEC, PROT_EXEC)
        deny(b'pkey_mprotect', 2, PROT_EXEC, PROT_EXEC)
        deny(b'shmat', 2, SHM_EXEC, SHM_EXEC)
    restricted = chosen.get('RestrictNamespaces', 'no')
    if restricted != 'no':
        for name, flag in NAMESPACES.items():
            if name not in restricted.split():
                deny(b'unshare', 0, flag, flag)
                deny(b'clone', 0, flag, flag)
    if lib.seccomp_load(context) != 0:
        sys.exit('as_unit: the filter by argument cannot be loaded')

    context = ctypes.c_void_p(lib.seccomp_init(SCMP_ACT_ERRNO))
    for name in sorted(allowed_calls(unit) | {'execve', 'exit_group'}):
        number = lib.seccomp_syscall_resolve_name(name.encode())
        if number >= 0:
            lib.seccomp_rule_add(context, SCMP_ACT_ALLOW, number, 0)
    if lib.seccomp_load(context) != 0:
        sys.exit('as_unit: the filter by name cannot be loaded')


if __name__ == '__main__':
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    apply(sys.argv[1])
    os.execvp(sys.argv[2], sys.argv[2:])
