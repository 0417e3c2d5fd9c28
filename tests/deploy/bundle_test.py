#!/usr/bin/env python3
"""Packs what was built with deploy/bundle and uses it where there is nothing, on older and on newer systems. Bundle and
Enrol need nothing but this machine; OlderAndNewerHosts and Arm64, labelled package, the network of apt, and root."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))
import runpaths  # noqa: E402
from hosts import Host, run, unpack_debian  # noqa: E402

BUILD = pathlib.Path(os.environ.get('HONE_BUILD_DIR', ROOT / 'build'))
PROGRAMS = {'tuner', 'tracker', 'device-agent', 'hone-builder', 'hone-runner', 'tophub', 'tensorc', 'gpu-check',
            'gpu-peers'}
GLIBC = re.compile(r'^(ld-linux-[\w-]+\.so\.\d|lib(c|m|mvec|pthread|dl|rt|resolv|util|anl|nsl|nss_\w+)\.so\.\d)$')
EM_X86_64, EM_AARCH64 = 62, 183
TASK = ['--task', 'dense', '--args', 'm=16,n=64,k=64', '--target', 'llvm']


# A program over the archives: both of its calls fail, in words.
PROGRAM = '''#include "hone_gpu.h"
#include <stdio.h>
int main(void) {
  HoneGpuDevice* gpu;
  HoneModel* model;
  hone_gpu_open("opencl:9999", &gpu);
  hone_open("none.so", &model);
  return puts(hone_gpu_last_error()) < 0 || puts(hone_last_error()) < 0;
}
'''


def needed(file):
    """The libraries that a file names, and where it says they are."""
    text = run('readelf', '-dW', file).stdout
    return re.findall(r'\(NEEDED\).*\[(.*)\]', text), re.findall(r'\((?:RPATH|RUNPATH)\).*\[(.*)\]', text)


def shared(top):
    """All shared libraries of an unpacked bundle."""
    return [file for folder in ('lib', 'lib/glibc', 'libexec-gcc/lib') for file in (top / folder).glob('*.so*')]


def unresolved(top):
    """Libraries that files of an unpacked bundle need and it has not."""
    have = {file.name for file in [*shared(top), *(top / 'bin').glob('ld-*')]}
    files = [*(top / 'libexec').iterdir(), *shared(top)]
    return sorted(f'{file.name}: {name}' for file in files for name in needed(file)[0] if name not in have)


def machine(path):
    """e_machine of an ELF file."""
    with open(path, 'rb') as file:
        return int.from_bytes(file.read(20)[18:], 'little')


def pack(test_class, build):
    """A bundle of what is built, packed and unpacked: `file`, `folder`, `top`."""
    test_class.folder = pathlib.Path(tempfile.mkdtemp(prefix='hone_bundle_'))
    test_class.addClassCleanup(shutil.rmtree, test_class.folder, True)
    packed = run(ROOT / 'deploy' / 'bundle', '--build', build, '--output', test_class.folder, '--level', '1',
                 timeout=900)
    assert packed.returncode == 0, packed.stderr
    print(packed.stdout)
    test_class.file, = test_class.folder.glob('*.tar.xz')
    subprocess.run(['tar', '-C', test_class.folder, '-xf', test_class.file], check=True)
    test_class.top = test_class.folder / test_class.file.name.removesuffix('.tar.xz')


class Layout:
    """Tests of the bundle of any machine."""

    def test_is_named_after_version_and_machine(self):
        version = re.search(r'project\(hone VERSION (\S+)', (ROOT / 'CMakeLists.txt').read_text())[1]
        self.assertEqual(self.file.name, f'hone-{version}-{self.machine}.tar.xz')
        self.assertTrue(self.top.is_dir())
        loader, = (self.top / 'bin').glob('ld-linux-*')
        self.assertEqual({file.name for file in (self.top / 'bin').iterdir()},
                         PROGRAMS | {'gpu-torch', 'hone-enrol', loader.name})
        for folder in ('libexec', 'libexec-gcc'):
            self.assertEqual({file.name for file in (self.top / folder).iterdir() if file.is_file()}, PROGRAMS)

    def test_has_every_library_it_needs(self):
        self.assertEqual(unresolved(self.top), [])
        for file in shared(self.top):
            paths = needed(file)[1]
            self.assertEqual(paths, [] if GLIBC.match(file.name) else ['$ORIGIN'], file)
        for program in PROGRAMS:
            names, paths = needed(self.top / 'libexec' / program)
            self.assertLessEqual({'libstdc++.so.6', 'libgcc_s.so.1'}, set(names), program)
            self.assertEqual(paths, ['$ORIGIN/lib:$ORIGIN/../lib'], program)
            self.assertTrue((self.top / 'libexec' / program).samefile(self.top / 'libexec-gcc' / program))
        self.assertEqual([f.name for f in (self.top / 'lib').glob('*.so*') if GLIBC.match(f.name)], [],
                         'only where our loader finds them')

    def test_looks_for_libraries_in_itself_alone(self):
        self.assertGreater(len(runpaths.loadable(self.top)), len(PROGRAMS))
        self.assertEqual(runpaths.faults(self.top), [])

    def test_launchers_need_nothing(self):
        for program in PROGRAMS:
            launcher = self.top / 'bin' / program
            self.assertTrue(launcher.samefile(self.top / 'bin' / 'tuner'), program)
            link = self.top / 'lib' / 'glibc' / 'start' / program
            self.assertTrue(link.is_symlink() and link.resolve().name.startswith('ld-linux-'), program)
        headers = run('readelf', '-lW', self.top / 'bin' / 'tuner').stdout
        self.assertNotIn('INTERP', headers)
        self.assertNotIn('DYNAMIC', headers)

    def test_all_is_for_that_machine(self):
        programs = [self.top / folder / program for folder in ('bin', 'libexec') for program in PROGRAMS]
        for file in [*programs, *shared(self.top), *(self.top / 'bin').glob('ld-*')]:
            self.assertEqual(machine(file), self.elf_machine, file)

    def test_comes_with_licences_headers_and_units(self):
        licences = {file.name for file in (self.top / 'share' / 'doc' / 'licenses').iterdir()}
        self.assertLessEqual({'libc6', 'libstdc++6', 'libgcc-s1', 'llvm-19-dev', 'libgrpc29', 'libxgboost0',
                              'Apache-2.0', 'LGPL-2.1'}, licences)
        self.assertTrue((self.top / 'include' / 'dlpack' / 'dlpack.h').is_file())
        header = self.folder / 'header.c'
        header.write_text(PROGRAM)
        compiled = run('gcc', '-fsyntax-only', '-I', self.top / 'include', header)
        self.assertEqual(compiled.returncode, 0, compiled.stderr)
        for library in ('runtime', 'gpu'):
            self.assertTrue((self.top / 'lib' / f'libhone_{library}.a').is_file())
        if self.elf_machine == machine('/proc/self/exe'):
            program = self.folder / 'program'
            linked = run('gcc', header, '-I', self.top / 'include', '-L', self.top / 'lib', '-lhone_runtime',
                         '-lhone_gpu', '-pthread', '-ldl', '-o', program)
            self.assertEqual(linked.returncode, 0, linked.stderr)
            self.assertRegex(run(program).stdout, "(?s)opencl:9999|OpenCL.*none.so")
        unit = (self.top / 'share' / 'systemd' / 'hone-agent.service').read_text()
        self.assertIn('ExecStart=/opt/hone/bin/device-agent ', unit)
        self.assertEqual(unit.replace('/opt/hone/bin/', '/usr/local/bin/'),
                         (ROOT / 'deploy' / 'systemd' / 'hone-agent.service').read_text())

    def test_says_nothing_of_where_it_was_made(self):
        for file in (self.top / 'README.md', self.top / 'bin' / 'hone-enrol'):
            self.assertNotIn(str(ROOT), file.read_text())
            self.assertNotIn('@MACHINE@', file.read_text())


class Sessions:
    """A tracker and an agent of the bundle on a host, and a session of a tuner."""

    def end_all(self, children):
        for child in reversed(children):
            child.terminate()
        for child in children:
            try:
                child.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                child.kill()
                child.communicate()

    def tune(self, host, tuner, agent_flags=(), more=(), seconds=240):
        """Tunes on an agent there; what the programs had loaded meanwhile."""
        children = []
        try:
            children.append(host.start('tracker', '--listen', '127.0.0.1:0', '--http', '127.0.0.1:0'))
            line = children[0].stdout.readline()
            self.assertIn('listening on', line, line or children[0].stderr.read())
            address = re.search(r'listening on ([^\s,]+)', line)[1]
            children.append(host.start('device-agent', '--tracker', address, '--name', 'board', '--threads', '1',
                                       *agent_flags))
            line = children[1].stderr.readline()
            while line and 'connected to' not in line:
                line = children[1].stderr.readline()
            self.assertIn('connected to', line)
            tuning = subprocess.Popen(
                [*tuner, '--tracker', address, '--device', 'board/cpu', *TASK, *more, '--trials', '8', '--fresh',
                 '--json'],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={
                    'PATH': os.environ['PATH'], 'HOME': str(host.root / 'tmp'),
                    'HONE_DB': str(host.root / 'tmp' / 'hub.db'), 'HONE_HOST_LOCK': str(host.root / 'tmp' / 'lock')})
            children.append(tuning)
            loaded, deadline = {}, time.monotonic() + seconds
            while tuning.poll() is None and time.monotonic() < deadline:
                for name, libraries in host.processes().items():
                    loaded.setdefault(name, set()).update(libraries)
                time.sleep(0.2)
            self.assertIsNotNone(tuning.poll(), 'the tuner does not end')
            out, err = tuning.communicate()
            self.assertEqual(tuning.returncode, 0, err)
            self.assertEqual(json.loads(out)['by_status'], {'ok': 8}, out)
            return loaded
        finally:
            self.end_all(children)

    def check_libraries(self, loaded, names, own_libc, own_libstdcxx):
        """That processes of these names ran, each with the one libc and libstdc++."""
        for name in names:
            self.assertIn(name[:15], loaded, 'ps shows a program by its name')
            for library, folder, own in (('libc.so.6', '/opt/hone/lib/glibc', own_libc),
                                         ('libm.so.6', '/opt/hone/lib/glibc', own_libc),
                                         ('libstdc++.so.6', '/opt/hone/libexec-gcc/lib', own_libstdcxx)):
                # Debian's has a name with all of its version, which the other is a link to.
                found = {os.path.dirname(path) for path in loaded[name[:15]] if f'/{library}' in path}
                self.assertEqual(len(found), 1, f'{name}: {found}')
                self.assertEqual(folder in found, own, f'{name} loads {library} from {found}')


class Bundle(Layout, Sessions, unittest.TestCase):
    machine = os.uname().machine
    elf_machine = {'x86_64': EM_X86_64, 'aarch64': EM_AARCH64}[machine]

    @classmethod
    def setUpClass(cls):
        pack(cls, BUILD)

    def test_misses_a_library_that_is_taken_away(self):
        library = self.top / 'lib' / 'libfmt.so.9'
        aside = library.rename(self.folder / library.name)
        try:
            self.assertIn('tuner: libfmt.so.9', unresolved(self.top))
        finally:
            aside.rename(library)

    def test_runs_in_an_empty_root(self):
        if why := Host.missing():
            self.skipTest(why)
        host = Host(self.folder / 'empty', self.file)
        self.assertEqual({p.name for p in host.root.iterdir()}, {'opt', 'proc', 'dev', 'tmp'})

        def ran(*words):
            result = host.run(*words)
            self.assertEqual(result.returncode, 0, f'{words}\n{result.stdout}{result.stderr}')
            return result.stdout + result.stderr

        tuned = ran('tuner', *TASK, '--trials', '8')
        self.assertIn('the prior in /opt/hone/share/hone/packages/', tuned)
        self.assertRegex(tuned, r'trials +8;')
        checked = ran('tensorc', *TASK, '--check', '--emit', 'so', '-o', '/tmp/dense.so')
        self.assertIn('config: best', checked)
        self.assertIn('agree with the reference', checked)
        self.assertEqual((host.root / 'tmp/dense.so').read_bytes()[:4], b'\x7fELF')
        self.assertIn('dense(m=16', ran('tophub', 'best', *TASK, '--db', '/tmp/hub.db'))
        loaded = self.tune(host, host.words('tuner'))
        self.check_libraries(loaded, ['tracker', 'device-agent', 'hone-builder', 'hone-runner', 'tuner'], True, True)

    def test_may_be_called_by_links_and_moved(self):
        moved = self.folder / 'elsewhere'
        shutil.copytree(self.top, moved, symlinks=True)
        link = self.folder / 'link'
        link.symlink_to(moved / 'bin' / 'tophub')
        shown = run(link, '--help')
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn('tophub', shown.stdout)
        (moved / 'libexec' / 'tophub').unlink()
        (moved / 'libexec-gcc' / 'tophub').unlink()
        broken = run(link)
        self.assertEqual((broken.returncode, broken.stderr.count('\n')), (2, 1), broken.stderr)
        self.assertRegex(broken.stderr, r'cannot start .*/tophub: No such file or directory')

    def test_refuses_what_is_not_built(self):
        with tempfile.TemporaryDirectory() as empty:
            refused = run(ROOT / 'deploy' / 'bundle', '--build', empty, '--output', empty)
            self.assertEqual((refused.returncode, refused.stderr), (1, f'bundle: nothing is built in {empty}\n'))
        for words, said in ((['--level', '10'], 'takes 0 to 9'), (['--bits', '64'], 'takes --arm64'),
                            (['--output'], 'needs a value')):
            self.assertIn(said, run(ROOT / 'deploy' / 'bundle', *words).stderr)

    # bin/hone-enrol: in mounts of its own, where /etc is a layer over this machine's and systemd a script that writes
    # down its requests.
    def enrol(self, *words, program=None, version=252, systemd=True, user=0):
        self.layer = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        tools = self.layer / 'tools'
        tools.mkdir()
        for name, text in {
                'systemctl': f'[ "$1" != --version ] || echo "systemd {version} ({version}.1)"',
                'useradd': '', 'chown': '', 'sleep': '', 'id': f'echo {user}; [ -z "$2" ]'}.items():
            (tools / name).write_text(f'#!/bin/sh\necho {name} "$@" >>{self.layer}/calls\n{text}\n')
            (tools / name).chmod(0o755)
        script = ' && '.join([
            f'mount -t tmpfs none {self.layer}/mnt', f'mkdir {self.layer}/mnt/up {self.layer}/mnt/work',
            f'mount -t overlay none -o lowerdir=/etc,upperdir={self.layer}/mnt/up,workdir={self.layer}/mnt/work /etc',
            'mount -t tmpfs none /run', 'mkdir -p /run/systemd/system' if systemd else 'true',
            f'{{ PATH={tools}:$PATH "$0" "$@"; code=$?; cp -a {self.layer}/mnt/up {self.layer}/etc; exit $code; }}'])
        (self.layer / 'mnt').mkdir()
        result = run(*Host.alone(False), 'sh', '-c', script, program or self.top / 'bin' / 'hone-enrol', *words)
        calls = self.layer / 'calls'
        self.calls = calls.read_text().splitlines() if calls.exists() else []
        return result

    def credentials(self):
        made = run(BUILD / 'bin' / 'tracker', 'init-tls', self.folder / 'tls', '--host', 'localhost', '--agent', 'pi4')
        self.addCleanup(shutil.rmtree, self.folder / 'tls')
        self.assertEqual(made.returncode, 0, made.stderr)
        # The printed command, its two ends of ssh joined.
        printed, = re.findall(r"(?m)^ssh pi4 '(.*)' <(.*) && ssh -t pi4 sudo /opt/hone/bin/hone-enrol (.*)$",
                              made.stdout)
        piped = run('sh', '-c', f'(cd "$0" && {printed[0]}) <{printed[1]}', self.folder)
        self.assertEqual(piped.returncode, 0, piped.stderr)
        self.assertEqual((self.folder / printed[2]).stat().st_mode & 0o777, 0o600)
        return self.folder / printed[2]

    def test_enrols_by_the_command_that_init_tls_prints(self):
        if why := Host.missing():
            self.skipTest(why)
        file = self.credentials()
        done = self.enrol(file, '--label', 'board=pi4')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('pi4 is an agent of localhost:9190', done.stdout)
        self.assertFalse(file.exists(), 'no second copy of the key')
        hone, unit = self.layer / 'etc' / 'hone', self.layer / 'etc' / 'systemd' / 'system' / 'hone-agent.service'
        self.assertEqual((hone / 'agent.hone').read_bytes(), (self.folder / 'tls' / 'pi4.hone').read_bytes())
        self.assertEqual((hone / 'agent.hone').stat().st_mode & 0o777, 0o600)
        self.assertEqual((hone / 'agent.env').read_text(), 'HONE_AGENT_FLAGS=--label board=pi4\n')
        self.assertEqual(sorted(p.name for p in hone.iterdir()), ['agent.env', 'agent.hone'])
        self.assertEqual(unit.read_text(), (ROOT / 'deploy' / 'systemd' / unit.name).read_text()
                         .replace('/usr/local/bin/', f'{self.top}/bin/'))
        if shutil.which('systemd-analyze'):
            verified = run('systemd-analyze', 'verify', '--man=no', unit)
            self.assertEqual((verified.returncode, verified.stdout + verified.stderr), (0, ''))
        asked = [call for call in self.calls if call.startswith('systemctl') and '--version' not in call]
        self.assertEqual(asked, ['systemctl daemon-reload', 'systemctl enable --quiet hone-agent',
                                 'systemctl restart hone-agent', 'systemctl is-active --quiet hone-agent'])
        # The unit's command with these files.
        serving = subprocess.Popen(
            [self.top / 'bin' / 'tracker', '--listen', '127.0.0.1:0', '--http', '127.0.0.1:0', '--tls-cert',
             'tracker.pem', '--tls-key', 'tracker.key', '--tls-client-ca', 'ca.pem', '--token-file', 'tokens'],
            cwd=self.folder / 'tls', stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        children = [serving]
        try:
            address = re.search(r'listening on 127.0.0.1(:\d+)', serving.stdout.readline())[1]
            command = re.search(r'ExecStart=(.*)', unit.read_text().replace('\\\n', ' '))[1]
            command = command.replace('${CREDENTIALS_DIRECTORY}', str(hone)).replace(
                '$HONE_AGENT_FLAGS',
                f'--tracker localhost{address} ' + (hone / 'agent.env').read_text().split('=', 1)[1])
            agent = subprocess.Popen(command.split(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                     env={'HOME': str(self.folder), 'HONE_HOST_LOCK': str(self.folder / 'lock')})
            children.append(agent)
            line = agent.stderr.readline()
            while line and 'connected to' not in line:
                line = agent.stderr.readline()
            self.assertIn('pi4/cpu', line)
        finally:
            self.end_all(children)

    def test_enrols_again_and_on_older_systemds(self):
        if why := Host.missing():
            self.skipTest(why)
        drop_in = pathlib.Path('etc/systemd/system/hone-agent.service.d/older-systemd.conf')
        file = self.credentials()
        kept = file.read_bytes()
        for version, wanted in ((252, None), (245, ['DynamicUser=no', 'User=hone-agent']), (237, ['~@clock'])):
            file.write_bytes(kept)
            done = self.enrol(file, version=version)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual((self.layer / drop_in).exists(), wanted is not None)
            for text in wanted or []:
                self.assertIn(text, (self.layer / drop_in).read_text())
            made = [call for call in self.calls if call.startswith(('useradd', 'chown hone-agent'))]
            self.assertEqual(len(made), 0 if wanted is None else 2, self.calls)
            self.assertEqual('SystemCallFilter=\n' in (self.layer / drop_in).read_text() if wanted else False,
                             version < 239)

    def test_enrols_nothing_from_bad_input(self):
        if why := Host.missing():
            self.skipTest(why)
        file = self.credentials()
        (self.folder / 'text').write_text('no file of a fleet')
        (self.folder / 'part').write_text(file.read_text().replace('\nend\n', '\n'))
        (self.folder / 'admin').write_text((self.folder / 'tls' / 'admin.hone').read_text())
        other = self.folder / 'other-enrol'
        text = (self.top / 'bin' / 'hone-enrol').read_text()
        other.write_text(text.replace(f'machine={self.machine}', 'machine=vax'))
        other.chmod(0o755)
        for words, more, said in (
                ([], {}, 'takes FILE and flags of device-agent'),
                ([file, '--label', 'a b'], {}, "flag 'a b' has other characters"),
                ([file], {'user': 1000}, 'only root may do this'),
                ([file], {'program': other}, f'is for vax, and this machine is {self.machine}'),
                ([file], {'systemd': False}, f'no systemd runs here; start {self.top}'),
                (['/nowhere'], {}, 'there is no file /nowhere'),
                ([self.folder / 'text'], {}, 'text is no file of `tracker init-tls`'),
                ([self.folder / 'part'], {}, 'part ends without `end`: a part of it is missing'),
                ([self.folder / 'admin'], {}, "admin is not an agent's: it has no line `for agent NAME`")):
            refused = self.enrol(*words, **more)
            self.assertEqual((refused.returncode, refused.stderr.count('\n')), (2, 1), refused.stderr)
            self.assertIn(said, refused.stderr)
            self.assertFalse((self.layer / 'etc' / 'hone').exists(), words)
            self.assertEqual([call for call in self.calls if 'restart' in call], [])
        self.assertTrue(file.exists())


class OlderAndNewerHosts(Sessions, unittest.TestCase):
    """Debian 11 and 13, whose libc are older and newer than ours."""

    @classmethod
    def setUpClass(cls):
        if why := Host.missing():
            raise unittest.SkipTest(why)
        pack(cls, BUILD)

    def host(self, suite, *packages, mounts=('proc', 'dev')):
        root = self.folder / '-'.join([suite, *packages])
        unpack_debian(suite, {'x86_64': 'amd64', 'aarch64': 'arm64'}[os.uname().machine], root, self.folder / 'apt',
                      ['libc6', 'libstdc++6', *packages])
        return Host(root, self.file, mounts=mounts)

    def check(self, host, own_libc, own_libstdcxx):
        self.check_libraries(self.tune(host, host.words('tuner')),
                             ['tracker', 'device-agent', 'hone-builder', 'hone-runner', 'tuner'],
                             own_libc, own_libstdcxx)

    def check_names(self, host):
        """A tracker is found by a name that only this host's files know, whatever else its nsswitch.conf names."""
        (host.root / 'etc').mkdir(exist_ok=True)
        (host.root / 'etc' / 'hosts').write_text('127.0.0.1 tracker.lab\n')
        (host.root / 'etc' / 'nsswitch.conf').write_text('hosts: files mdns4_minimal [NOTFOUND=return] resolve dns\n')
        made = host.run('tracker', 'init-tls', '/tmp/tls', '--host', 'tracker.lab')
        self.assertEqual(made.returncode, 0, made.stderr)
        tls = ['--tls-ca', '/tmp/tls/ca.pem', '--tls-cert', '/tmp/tls/admin.pem', '--tls-key', '/tmp/tls/admin.key',
               '--token-file', '/tmp/tls/admin.token']
        tracker = host.start('tracker', '--listen', '127.0.0.1:0', '--http', '127.0.0.1:0', '--tls-cert',
                             '/tmp/tls/tracker.pem', '--tls-key', '/tmp/tls/tracker.key', '--token-file',
                             '/tmp/tls/tokens')
        try:
            line = tracker.stdout.readline()
            port = re.search(r'listening on 127.0.0.1(:\d+)', line)[1]
            asked = host.run('tracker', 'status', '--json', '--tracker', f'tracker.lab{port}', *tls)
            self.assertEqual((asked.returncode, json.loads(asked.stdout or '{}').get('devices')), (0, []), asked.stderr)
            asked = host.run('tracker', 'status', '--tracker', f'nowhere.lab{port}', *tls)
            self.assertNotEqual(asked.returncode, 0)
        finally:
            self.end_all([tracker])

    def test_an_older_one_runs_with_our_libc(self):
        host = self.host('bullseye')
        direct = host.run('/opt/hone/libexec-gcc/tophub', '--help')
        self.assertNotEqual(direct.returncode, 0)
        self.assertIn('GLIBC_', direct.stderr, 'what the launcher is for')
        self.check(host, True, True)
        self.check_names(host)

    def test_a_newer_one_runs_with_its_libc(self):
        host = self.host('trixie')
        self.check(host, False, False)
        self.check_names(host)
        for library in host.root.glob('usr/lib/*/libstdc++.so.6*'):
            library.unlink()
        self.check(host, False, True)

    def test_a_newer_ones_driver_loads(self):
        """PoCL, which is C++ with an LLVM of its own and calls the system's linker: it asks for a newer libc and
        libstdc++ than ours."""
        host = self.host('trixie', 'pocl-opencl-icd', 'ocl-icd-libopencl1', 'binutils', 'gcc', 'libc6-dev',
                         mounts=('proc', 'dev', 'sys'))
        driver, = host.root.glob('usr/lib/*/libpocl.so.2')
        versions = run('readelf', '-VW', driver).stdout
        self.assertRegex(versions, r'GLIBC_2\.(3[89]|4\d)', 'for which Debian 12\'s is too old')
        checked = host.run('tensorc', '--task', 'dense', '--args', 'm=16,n=64,k=64', '--target', 'opencl', '--check')
        self.assertEqual(checked.returncode, 0, checked.stderr)
        self.assertIn('agree with the reference', checked.stdout + checked.stderr)


class Arm64(Layout, Sessions, unittest.TestCase):
    """The bundle for ARM under qemu-user, which is registered for these processes alone. The tuner is this machine's:
    training a model takes too long there."""
    machine, elf_machine = 'aarch64', EM_AARCH64
    TREE = ROOT / 'build-arm64'

    @classmethod
    def setUpClass(cls):
        if not (cls.TREE / 'bin' / 'hone-launcher').exists():
            raise unittest.SkipTest('deploy/bundle --arm64 builds what this bundle has')
        if why := Host.missing(emulated=True):
            raise unittest.SkipTest(why)
        pack(cls, cls.TREE)

    def check(self, root, own_libc, own_libstdcxx):
        host = Host(root, self.file, emulated=True)
        checked = host.run('tensorc', '--task', 'dense', '--args', 'm=8,n=64,k=32', '--threads', '1', '--check',
                           '--emit', 'so', '-o', '/tmp/dense.so')
        self.assertIn('agree with the reference', checked.stdout + checked.stderr)
        self.assertEqual(machine(host.root / 'tmp' / 'dense.so'), EM_AARCH64)
        loaded = self.tune(
            host, [str(BUILD / 'bin' / 'tuner')],
            ['--target', 'llvm -mtriple=aarch64-linux -mcpu=cortex-a72 -threads=1'],
            ['--batch', '4', '--timeout', '120', '--repeat', '1', '--min-repeat-ms', '0.2'], seconds=900)
        self.check_libraries(loaded, ['tracker', 'device-agent', 'hone-builder', 'hone-runner'],
                             own_libc, own_libstdcxx)

    def test_runs_in_an_empty_root(self):
        self.check(self.folder / 'empty', True, True)

    def test_runs_on_an_older_host_with_our_libc(self):
        unpack_debian('bullseye', 'arm64', self.folder / 'bullseye', self.folder / 'apt')
        self.check(self.folder / 'bullseye', True, True)

    def test_runs_on_a_newer_host_with_its_libc(self):
        unpack_debian('trixie', 'arm64', self.folder / 'trixie', self.folder / 'apt')
        self.check(self.folder / 'trixie', False, False)


if __name__ == '__main__':
    unittest.main()
