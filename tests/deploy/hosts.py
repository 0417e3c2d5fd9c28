"""Other systems to run a bundle in: folders with the libc and libstdc++ of a Debian release, and processes that have
such a folder as their root."""
import os
import pathlib
import re
import shutil
import subprocess

EMULATOR = '/usr/bin/qemu-aarch64-static'
# ELF for 64-bit ARM, as qemu's own registration has it; F: the emulator is opened now, outside of the root.
BINFMT = (r':hone:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
          r':\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:' + EMULATOR + ':F')


def run(*words, **more):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, **{'timeout': 240, **more})


def mirror():
    """Where this system's apt has its packages from."""
    for path in [pathlib.Path('/etc/apt/sources.list'), *pathlib.Path('/etc/apt/sources.list.d').glob('*')]:
        if path.is_file():
            found = re.search(r'(?m)^(?:deb\s.*?|URIs:\s*)(https?://\S+/debian)/?(?:\s|$)', path.read_text())
            if found:
                return found.group(1)
    return 'http://deb.debian.org/debian'


def unpack_debian(suite, architecture, root, work, packages=('libc6', 'libstdc++6')):
    """Unpacks packages of a Debian release, and what they need, into root. apt keeps its state in work: nothing is
    installed."""
    for name in ('state/lists/partial', 'cache/archives/partial', 'log'):
        (work / name).mkdir(parents=True)
    (work / 'status').touch()
    (work / 'sources.list').write_text(
        f'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] {mirror()} {suite} main\n')
    options = {'APT::Architecture': architecture, 'APT::Architectures': architecture, 'APT::Sandbox::User': 'root',
               'Dir::State': work / 'state', 'Dir::State::status': work / 'status', 'Dir::Cache': work / 'cache',
               'Dir::Log': work / 'log', 'Dir::Etc::sourcelist': work / 'sources.list',
               'Dir::Etc::sourceparts': '/dev/null', 'Acquire::Languages': 'none', 'Acquire::Retries': 2,
               'APT::Update::Post-Invoke': ''}
    words = ['apt-get', '-qq', '-y', *(word for key, value in options.items() for word in ('-o', f'{key}={value}'))]
    for command in (['update'], ['install', '--download-only', '--no-install-recommends', *packages]):
        done = run(*words, *command)
        assert done.returncode == 0, done.stderr
    root.mkdir(parents=True)
    for package in (work / 'cache' / 'archives').glob('*.deb'):
        unpacked = run('dpkg-deb', '-x', package, root)
        assert unpacked.returncode == 0, unpacked.stderr
    # Where all lies below /usr, the package base-files brings the links.
    for name in ('bin', 'lib', 'lib64'):
        if (root / 'usr' / name).exists() and not (root / name).exists():
            (root / name).symlink_to(f'usr/{name}')
    shutil.rmtree(work)


class Host:
    """A root folder with a bundle in /opt/hone, /tmp, and what of this machine's is mounted there."""

    def __init__(self, root, bundle, emulated=False, mounts=('proc', 'dev')):
        self.root, self.emulated, self.mounts = root, emulated, mounts
        self.top = root / 'opt' / 'hone'
        for name in (*mounts, 'tmp'):
            (root / name).mkdir(parents=True, exist_ok=True)
        (root / 'tmp').chmod(0o1777)
        self.top.mkdir(parents=True)
        unpacked = run('tar', '-xf', bundle, '-C', self.top, '--strip-components=1')
        assert unpacked.returncode == 0, unpacked.stderr

    @staticmethod
    def missing(emulated=False):
        """Why there can be no such processes here; nothing when there can."""
        if not shutil.which('unshare') or not shutil.which('chroot'):
            return 'no unshare or no chroot'
        if emulated and not os.path.exists(EMULATOR):
            return 'deploy/setup arm64 installs the emulator'
        tried = run(*Host.alone(emulated), 'sh', '-c', Host.prepare(emulated) or 'true')
        return '' if tried.returncode == 0 else f'no namespaces here: {tried.stderr}'

    @staticmethod
    def alone(emulated):
        """Mounts of its own; and a namespace of users for who is not root, and where the emulator is registered, which
        then holds for nobody else."""
        return ['unshare', '--mount'] + (['--user', '--map-root-user'] if emulated or os.geteuid() != 0 else [])

    @staticmethod
    def prepare(emulated):
        return ('mount -t binfmt_misc none /proc/sys/fs/binfmt_misc && '
                f"printf %s '{BINFMT}' >/proc/sys/fs/binfmt_misc/register") if emulated else ''

    def words(self, program, *words):
        """The command that runs a program of the bundle, or what a path says, with this root."""
        script = ' && '.join(filter(None, [
            self.prepare(self.emulated), *(f'mount --rbind /{name} "$0/{name}"' for name in self.mounts),
            'chroot=$(command -v chroot)',
            'exec env -i PATH=/usr/bin:/bin HOME=/tmp HONE_DB=/tmp/hub.db HONE_HOST_LOCK=/tmp/lock $chroot "$0" "$@"']))
        return [*self.alone(self.emulated), 'sh', '-c', script, str(self.root), os.path.join('/opt/hone/bin', program),
                *(str(w) for w in words)]

    def run(self, program, *words, **more):
        return run(*self.words(program, *words), **more)

    def start(self, program, *words):
        return subprocess.Popen(
            self.words(program, *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def processes(self):
        """The processes that run here: {name: the libraries that it has loaded, as paths of this host}."""
        out = {}
        for process in pathlib.Path('/proc').glob('[0-9]*'):
            try:
                if pathlib.Path(os.readlink(process / 'root')).resolve() != self.root.resolve():
                    continue
                name = (process / 'comm').read_text().strip()
                loaded = {path for path in re.findall(r'(/\S+)$', (process / 'maps').read_text(), re.MULTILINE)}
            except OSError:  # gone meanwhile
                continue
            inside = {path.removeprefix(str(self.root.resolve())) for path in loaded}
            out.setdefault(name, set()).update(path for path in inside if '.so' in path)
        return out
