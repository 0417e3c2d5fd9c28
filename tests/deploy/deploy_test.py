"""Holds the units of deploy/ and docs/fleet.md against the programs, so that neither rots: names, flags, files; and
runs tracker and agent under the flags and the filters of units and manifests."""
import fnmatch
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import yaml

import container_test
from commands import (BIN, DEPLOY, FLEET_PAGE, HERE, PASSED_ON, PROGRAMS, ROOT, check_command, exec_words, flag, run,
                      shell_words, unit_settings)


class Units(unittest.TestCase):
    units = sorted((DEPLOY / 'systemd').glob('*.service'))

    def setUp(self):
        self.assertEqual(len(self.units), 3)

    def test_start_programs_with_flags_that_exist(self):
        for unit in self.units:
            words = exec_words(unit)
            check_command(self, words)
            self.assertTrue(words[0].startswith('/usr/local/bin/'), 'where cmake --install puts them')

    def test_are_what_systemd_takes(self):
        if not shutil.which('systemd-analyze'):
            self.skipTest('no systemd-analyze')
        for unit in self.units:
            with tempfile.TemporaryDirectory() as folder:
                copy = pathlib.Path(folder) / unit.name
                copy.write_text(unit.read_text().replace('/usr/local/bin/', f'{BIN}/'))
                result = run('systemd-analyze', 'verify', '--man=no', copy)
                self.assertEqual((result.returncode, result.stdout + result.stderr), (0, ''), unit.name)

    def test_take_the_drop_in_for_gpus(self):
        if not shutil.which('systemd-analyze'):
            self.skipTest('no systemd-analyze')
        with tempfile.TemporaryDirectory() as folder:
            unit = pathlib.Path(folder) / 'hone-agent.service'
            unit.write_text((DEPLOY / 'systemd' / unit.name).read_text().replace('/usr/local/bin/', f'{BIN}/'))
            drop_in = pathlib.Path(folder) / 'hone-agent.service.d' / 'gpu.conf'
            drop_in.parent.mkdir()
            shutil.copy(DEPLOY / 'systemd' / 'gpu.conf', drop_in)
            result = run('systemd-analyze', 'verify', '--man=no', unit)
            self.assertEqual((result.returncode, result.stdout + result.stderr), (0, ''))
            drop_in.write_text('[Service]\nDeviceAllow=char-nvidia everything\n')
            self.assertIn('gpu.conf', run('systemd-analyze', 'verify', '--man=no', unit).stderr,
                          'what is wrong in it is seen')

    def test_let_the_gpus_through_that_the_agents_sandbox_names(self):
        text = (ROOT / 'rpc' / 'agent' / 'sandbox' / 'sandbox_profile.cc').read_text()
        nodes = [node for array in re.findall(r'constexpr std::array k\w+Nodes = \{([^}]*)\};', text)
                 for node in re.findall(r'"(/dev/[^"]+)"', array)]
        self.assertGreater(len(nodes), 30)
        allowed = [value.split()[0] for name, value in unit_settings(DEPLOY / 'systemd' / 'gpu.conf')
                   if name == 'DeviceAllow']

        def is_allowed(node):
            # A driver's class is called as its nodes, which have a number or a word of their own behind it.
            name = {'dri': 'drm'}.get(node.removeprefix('/dev/'), node.removeprefix('/dev/'))
            kinds = [a.removeprefix('char-') for a in allowed if a.startswith('char-')]
            return node in allowed or any(
                fnmatch.fnmatch(name, kind) or re.fullmatch(rf'{re.escape(kind)}(\d+|-tools)', name) for kind in kinds)
        self.assertEqual([node for node in nodes if not is_allowed(node)], [])
        self.assertFalse(is_allowed('/dev/sda'))

    def test_leave_little_exposed(self):
        if not shutil.which('systemd-analyze'):
            self.skipTest('no systemd-analyze')
        for unit in self.units:
            result = run('systemd-analyze', 'security', '--offline=true', '--no-pager', unit)
            score = float(re.search(r'exposure level for \S+: ([\d.]+)', result.stdout)[1])
            print(f'{unit.name}: exposure {score}')
            self.assertLess(score, 2.5, result.stdout)


class UnderFilters(unittest.TestCase):
    """The programs do their work under what the units forbid (as_unit.py)."""

    def test_an_agent_measures(self):
        if not shutil.which('systemd-analyze'):
            self.skipTest('no systemd-analyze')
        with tempfile.TemporaryDirectory() as folder:
            env = {'HOME': folder, 'TMPDIR': folder, 'HONE_DB': f'{folder}/hub.db', 'HONE_HOST_LOCK': f'{folder}/lock',
                   **PASSED_ON}
            children = []

            def start(unit, *words):
                children.append(subprocess.Popen(
                    [sys.executable, HERE / 'as_unit.py', DEPLOY / 'systemd' / unit, *words],
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env))
                return children[-1]

            try:
                tracker = start('hone-tracker.service',
                                BIN / 'tracker', '--listen', '127.0.0.1:0', '--http', '127.0.0.1:0')
                line = tracker.stdout.readline()
                self.assertIn('listening on', line, line or tracker.stderr.read())
                address = re.search(r'listening on ([^\s,]+)', line)[1]
                start('hone-agent.service', BIN / 'device-agent', '--tracker', address, '--name', 'unit')
                children.append(subprocess.Popen(
                    [BIN / 'device-agent', '--tracker', address, '--name', 'free'],
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env))

                def keys():
                    told = run(BIN / 'tracker', 'status', '--json', '--tracker', address).stdout
                    return {d['key'] for d in yaml.safe_load(told)['devices']}

                # On a busy machine an agent needs a while to look for devices.
                deadline = time.monotonic() + 60
                while not {'unit/cpu', 'free/cpu'} <= keys() and time.monotonic() < deadline:
                    time.sleep(0.2)
                tuned = run(BIN / 'tuner', '--tracker', address, '--device', 'unit/cpu', '--task', 'dense',
                            '--args', 'm=16,n=64,k=64', '--target', 'llvm', '--trials', '8', '--json', env=env)
                self.assertEqual(tuned.returncode, 0, tuned.stderr)
                status = yaml.safe_load(run(BIN / 'tracker', 'status', '--json', '--tracker', address).stdout)
                devices = {d['key']: d for d in status['devices']}
                self.assertGreater(devices['unit/cpu']['done'], 0)
                self.assertEqual(devices['unit/cpu']['failed'], 0)
                self.assertEqual(devices['unit/cpu']['missing'], devices['free/cpu']['missing'],
                                 'the unit takes no isolation from the agent')
                self.assertEqual('unit/opencl0' in devices, 'free/opencl0' in devices, 'nor devices')
            finally:
                codes = []
                for child in reversed(children):
                    child.terminate()
                    child.communicate(timeout=60)
                    codes.append(child.returncode)
            self.assertEqual(set(codes), {0}, 'SIGTERM ends both well')


class FleetPage(unittest.TestCase):
    def test_commands_exist(self):
        text = FLEET_PAGE.read_text()
        checked = 0
        for _, block in re.findall(r'^```(sh)?\n(.*?)^```', text, re.MULTILINE | re.DOTALL):
            for words in shell_words(block):
                if pathlib.PurePath(words[0]).name in PROGRAMS:
                    check_command(self, words)
                    checked += 1
        self.assertGreaterEqual(checked, 5)

    def test_files_exist(self):
        text = FLEET_PAGE.read_text()
        for name in set(re.findall(r'\bdeploy/[a-zA-Z0-9_./-]*[a-zA-Z0-9]', text)):
            self.assertTrue((ROOT / name).exists(), name)


class Fleet(unittest.TestCase):
    """The files that `tracker init-tls` makes, under the flags of units and manifests: tracker and agent find each
    other."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.env = {'HOME': str(self.folder), 'TMPDIR': str(self.folder),
                    'HONE_HOST_LOCK': str(self.folder / 'lock'), **PASSED_ON}
        self.tls = self.folder / 'hone'

    def start(self, words):
        child = subprocess.Popen(
            [str(w) for w in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.env)

        def end():
            child.terminate()
            child.communicate(timeout=60)

        self.addCleanup(end)
        return child

    def init(self, *words):
        made = run(BIN / 'tracker', 'init-tls', self.tls, *words)
        self.assertEqual(made.returncode, 0, made.stderr)

    def start_tracker(self, words):
        """On loopback and any port instead of where the words say; its gRPC address and its HTTP port."""
        words = [re.sub(r'0\.0\.0\.0:\d+', '127.0.0.1:0', w) for w in words]
        tracker = self.start([BIN / 'tracker', *words[1:]])
        line = tracker.stdout.readline()
        found = re.search(r'listening on ([^\s,]+), http on [^\s]+:(\d+)', line)
        self.assertTrue(found, line or tracker.stderr.read())
        return found[1], found[2]

    def start_agent(self, words, address):
        words = [re.sub(r'^(--tracker=)?[a-z.-]+:9190$', lambda m: (m[1] or '') + address, w) for w in words]
        agent = self.start([BIN / 'device-agent', *words[1:]])
        line = agent.stderr.readline()
        while line and 'connected to' not in line:
            line = agent.stderr.readline()
        self.assertIn('connected to', line)

    def devices(self, address):
        status = run(BIN / 'tracker', 'status', '--json', '--tracker', address, '--fleet', 'admin.hone', cwd=self.tls)
        self.assertEqual(status.returncode, 0, status.stderr)
        # GPUs are as the machine has them.
        return [d['key'] for d in yaml.safe_load(status.stdout)['devices'] if d['key'].endswith('/cpu')]

    def test_of_the_units(self):
        self.init('--agent', 'lab1')
        tracker, agent = (
            [w.replace('/etc/hone', str(self.tls)).replace('/var/lib/hone-tracker', str(self.folder))
             for w in exec_words(DEPLOY / 'systemd' / f'hone-{name}.service')]
            for name in ('tracker', 'agent'))
        address, http = self.start_tracker(tracker)
        state = pathlib.PurePath(flag(exec_words(DEPLOY / 'systemd' / 'hone-tracker.service'), '--state'))
        made = dict(unit_settings(DEPLOY / 'systemd' / 'hone-tracker.service'))['StateDirectory']
        self.assertEqual(state.parent, pathlib.PurePath('/var/lib') / made, 'the only folder that it may write')
        self.assertTrue((self.folder / state.name).is_file())
        # LoadCredential's names, and where they lie on the agent's machine under the names of that page.
        for name, source in (value.split(':')
                             for key, value in unit_settings(DEPLOY / 'systemd' / 'hone-agent.service')
                             if key == 'LoadCredential'):
            self.assertEqual(source, f'/etc/hone/{name}')
            shutil.copy(self.tls / name.replace('agent', 'lab1'), self.tls / name)
        agent += ['--tracker', f'localhost:{address.rpartition(":")[2]}']
        self.start_agent([w.replace('${CREDENTIALS_DIRECTORY}', str(self.tls)) for w in agent], address)
        self.assertEqual(self.devices(address), ['lab1/cpu'])
        health = (run('curl', '--silent', '--insecure', f'https://localhost:{http}/healthz')
                  if shutil.which('curl') else None)
        self.assertTrue(health is None or health.stdout.startswith('ok'), health)

    def test_of_the_manifests(self):
        self.init('--host', 'hone-tracker', '--agent', 'node-7', '--tuner', 'job')
        for name in ('agent-node-7.token', 'tuner-job.token'):
            (self.tls / name).chmod(0o440)
        manifests = container_test.Manifests()
        # The files that the page's secrets hold under these names.
        made = {'/etc/hone/tls/tls.crt': 'tracker.pem', '/etc/hone/tls/tls.key': 'tracker.key',
                '/etc/hone/tokens/tokens': 'tokens', '/etc/hone/ca/ca.pem': 'ca.pem'}

        def words(kind, name, token='none'):
            container = manifests.find(kind, name)['spec']['template']['spec']['containers'][0]
            text = ('\n'.join(manifests.entry(container))
                    .replace('$(NODE_NAME)', 'node-7').replace('/data/', f'{self.folder}/'))
            for path, file in {**made, '/etc/hone/token/token': token}.items():
                text = text.replace(path, str(self.tls / file))
            self.assertNotIn('/etc/hone', text)
            return text.split('\n')

        address, _ = self.start_tracker(words('Deployment', 'hone-tracker'))
        self.start_agent(words('DaemonSet', 'hone-agent', 'agent-node-7.token'), address)
        self.assertEqual(self.devices(address), ['node-7/cpu'])
        other = [w.replace('node-7', 'node-8') if w.startswith('--name') else re.sub(r'hone-tracker:9190', address, w)
                 for w in words('DaemonSet', 'hone-agent', 'agent-node-7.token')]
        refused = run(BIN / 'device-agent', *other[1:],
                      env={**self.env, 'HONE_HOST_LOCK': str(self.folder / 'other-lock')})
        self.assertEqual(refused.returncode, 2, 'one node cannot call itself another')
        self.assertIn("may not use the name 'node-8'", refused.stderr)

        job = [re.sub(r'--trials=\d+', '--trials=8', re.sub(r'hone-tracker:9190', address, w))
               for w in words('Job', 'hone-tuner', 'tuner-job.token')]
        for attempt in ('made', 'made again'):
            tuned = run(BIN / 'tuner', *job[1:], '--json', env=self.env)
            self.assertEqual(tuned.returncode, 0, f'{attempt}: {tuned.stderr}')
            self.assertEqual(yaml.safe_load(tuned.stdout)['db'], str(self.folder / 'tophub.db'))
        self.assertEqual(
            run(BIN / 'tuner', *(w.replace('tuner-job.token', 'agent-node-7.token') for w in job[1:]),
                env=self.env).returncode, 2, 'an agent tunes nothing')


if __name__ == '__main__':
    unittest.main()
