"""Where programs and libraries look for others: what a folder's ELF files say of it, and what is wrong with that."""
import os
import pathlib
import re
import subprocess

ET_EXEC, ET_DYN = 2, 3


def loadable(root):
    """Programs, shared libraries and modules below a folder, links left out."""
    found = []
    for folder, _, names in os.walk(root):
        for name in names:
            path = pathlib.Path(folder, name)
            if path.suffix in ('.o', '.a', '.cc', '.h', '.d') or path.is_symlink() or not path.is_file():
                continue
            with open(path, 'rb') as file:
                head = file.read(18)
            if head[:4] == b'\x7fELF' and int.from_bytes(head[16:18], 'little') in (ET_EXEC, ET_DYN):
                found.append(path)
    return found


def dynamic(files):
    """(file, needed libraries, elements of its runpath) of each."""
    out = []
    for file in files:
        text = subprocess.run(['readelf', '-dW', str(file)], capture_output=True, text=True, check=True).stdout
        paths = re.findall(r'\((?:RPATH|RUNPATH)\).*\[(.*)\]', text)
        out.append((file, re.findall(r'\(NEEDED\).*\[(.*)\]', text), [e for path in paths for e in path.split(':')]))
    return out


def fault_of(element, file, root):
    """The fault of an element of the runpath of a file that came with the folder `root`; None: nothing."""
    if not element:
        return 'is empty, which is the folder that the program is called in'
    below = re.fullmatch(r'\$(?:ORIGIN|\{ORIGIN\})((?:/.*)?)', element)
    if not below:
        return 'is a folder of the machine that built it' if element.startswith('/') else 'is relative'
    folder = os.path.normpath(f'{file.parent.resolve()}/{below[1]}')
    top = str(pathlib.Path(root).resolve())
    return None if f'{folder}/'.startswith(f'{top}/') else f'leads out of {root}'


def faults(root):
    """A line for each element of a runpath, and each library named by a path, that lets others say what is loaded."""
    out = []
    for file, needed, elements in dynamic(loadable(root)):
        for element in elements:
            fault = fault_of(element, file, root)
            if fault:
                out.append(f"{file}: '{element}' of {elements} {fault}")
        out += [f"{file}: the library '{name}' is a path" for name in needed if '/' in name]
    return out
