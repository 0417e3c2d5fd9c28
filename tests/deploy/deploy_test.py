#!/usr/bin/env python3
"""Holds what deploy/ and docs/fleet.md say about the programs against the programs, so that neither rots: names, flags,
ports, files, libraries."""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import yaml

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DEPLOY = ROOT / 'deploy'
FLEET_PAGE = ROOT / 'docs' / 'fleet.md'
BUILD = pathlib.Path(os.environ.get('HONE_BUILD_DIR', ROOT / 'build'))
BIN = BUILD / 'bin'
PROGRAMS = {'tracker', 'device-agent', 'tuner', 'tophub', 'tensorc'}
SUBCOMMANDS = {'tracker': {'status', 'drain', 'resume', 'quarantine', 'init-tls'}, 'tophub': None}

helps = {}


def run(*words, **more):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=120, **more)


def help_of(words):
    """What `program [subcommand] --help all` prints: every flag."""
    if words not in helps:
        result = run(BIN / words[0], *words[1:], '--help', 'all')
        assert result.returncode == 0, f'{words}: {result.stderr}'
        helps[words] = result.stdout
    return helps[words]


def command_of(words):
    """The program and, where it has some, the subcommand that these words call; and its flags."""
    program = pathlib.PurePath(words[0]).name
    known = SUBCOMMANDS.get(program)
    sub = words[1] if program in SUBCOMMANDS and len(words) > 1 and not words[1].startswith('-') else None
    if sub and known is not None and sub not in known:
        raise AssertionError(f'{program} has no command {sub}: {words}')
    return (program, sub) if sub else (program,), [w.split('=', 1)[0] for w in words[1:] if w.startswith('--')]


def check_command(case, words):
    """The program is there and takes these flags, and those with a value have one."""
    called, flags = command_of(words)
    case.assertIn(called[0], PROGRAMS, words)
    text = help_of(called)
    for flag in flags:
        case.assertRegex(text, rf'(?m)(^|[\s,]){re.escape(flag)}([\s,:\[]|$)',
                         f'{" ".join(called)} has no {flag}: {words}')


def flag(words, name):
    """The value of a flag given as `--name=value` or `--name value`."""
    for i, word in enumerate(words):
        if word == name:
            return words[i + 1]
        if word.startswith(name + '='):
            return word.split('=', 1)[1]
    return None


def port(address):
    return int(address.rsplit(':', 1)[1])


# What programs are given of this process's environment: where programs are, and how sanitizers behave.
PASSED_ON = {name: value for name, value in os.environ.items() if name == 'PATH' or name.endswith('SAN_OPTIONS')}


def env_file(path):
    return dict(line.split('=', 1) for line in path.read_text().splitlines() if line and not line.startswith('#'))


def unit_settings(path):
    return re.findall(r'^([A-Za-z]+)=(.*)$', path.read_text().replace('\\\n', ' '), re.MULTILINE)


def exec_words(unit):
    """ExecStart's words, with the variables of the example of its environment file."""
    settings = dict(unit_settings(unit))
    env = env_file(DEPLOY / 'systemd' / pathlib.PurePath(settings['EnvironmentFile']).name)
    line = re.sub(r'\$([A-Z_]+)', lambda m: env[m[1]], settings['ExecStart'])
    return shlex.split(line)


class Units(unittest.TestCase):
    units = sorted((DEPLOY / 'systemd').glob('*.service'))

    def setUp(self):
        self.assertEqual(len(self.units), 2)

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


def shell_words(text):
    """The simple commands of a shell's text as lists of words: continued lines joined, comments, redirections and what
    stands before a command left out."""
    for line in text.replace('\\\n', ' ').splitlines():
        command = []
        for word in [*shlex.split(line, comments=True), ';']:
            if word not in ('|', '||', '&&', '&', ';', '>', '2>', '<'):
                command.append(word)
                continue
            while command and (command[0] in ('$', 'sudo') or re.match(r'^[A-Z_]+=', command[0])):
                command = command[1:]
            if command:
                yield command
            command = []


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


def stages(dockerfile):
    """Of each stage its instructions, continued lines joined: {name: [(WORD, rest)]}."""
    out, name = {}, None
    for line in re.sub(r'\\\n', ' ', re.sub(r'(?m)^\s*#.*\n', '', dockerfile)).splitlines():
        match = re.match(r'^([A-Z]+)\s+(.*)$', line)
        if not match:
            continue
        if match[1] == 'FROM':
            name = re.search(r' AS (\S+)$', match[2])[1]
            out[name] = []
        out[name].append((match[1], match[2]))
    return out


COMPONENTS = {'tracker': ['tracker'], 'agent': ['device-agent', 'hone-builder', 'hone-runner'],
              'tuner': ['tuner', 'tophub', 'tensorc']}


def with_depends(packages):
    """The packages and what they bring: a package brings what it depends on."""
    depends = run('apt-cache', 'depends', '--recurse', '--no-recommends', '--no-suggests', '--no-conflicts',
                  '--no-breaks', '--no-replaces', '--no-enhances', *sorted(packages)).stdout
    return {line.strip() for line in depends.splitlines() if line and not line.startswith(' ')}


def libraries_of(program):
    """The shared libraries that a program loads: {library: the packages that have it}."""
    needed = re.findall(r'NEEDED\s+(\S+)', run('objdump', '-p', BIN / program).stdout)
    # Libraries of sanitizers belong to sanitized builds, which are never shipped.
    needed = [library for library in needed if not re.match(r'lib[a-z]+san\.', library)]
    assert needed, program
    # `package:amd64: /lib/x86_64-linux-gnu/name`, a line for each package that has it.
    found = [line.split(': ')
             for line in run('dpkg-query', '-S', *(f'*/{library}' for library in needed)).stdout.splitlines()]
    return {library: {package.split(':')[0] for package, path in found if path.endswith('/' + library)}
            for library in needed}


class Packages(unittest.TestCase):
    """Who only wants the programs installs no more than they are built with, and can build them."""
    file = DEPLOY / 'packages.txt'

    def sections(self):
        out = {}
        for line in self.file.read_text().splitlines():
            if line.startswith('['):
                out[line.strip('[]')] = section = []
            elif line and not line.startswith('#'):
                section.append(line)
        return out

    def set_up(self, *words):
        """What `setup` installs on a machine that has none of the packages: nothing but commands of this test's is
        called for it."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / 'deploy').mkdir()
            for name in ('setup', 'packages.txt'):
                shutil.copy(DEPLOY / name, folder / 'deploy')
            (folder / 'bin').mkdir()
            for name, does in {'dpkg-query': 'exit 1', 'apt-get': f'echo "$*" >>{folder}/calls',
                               'npm': f'echo "npm $*" >>{folder}/calls', 'node': 'exit 1',
                               'sudo': '[[ $1 != -n ]] || shift; "$@"'}.items():
                (folder / 'bin' / name).write_text(f'#!/bin/bash\n{does}\n')
                (folder / 'bin' / name).chmod(0o755)
            result = run(folder / 'deploy' / 'setup', *words,
                         env={**PASSED_ON, 'PATH': f'{folder}/bin:{os.environ["PATH"]}'})
            calls = (folder / 'calls').read_text().splitlines() if (folder / 'calls').exists() else []
        installs = [shlex.split(call) for call in calls if ' install ' in call]
        return (result,
                [w for call in installs for w in call[call.index('install') + 1:] if not w.startswith('-')],
                [call for call in calls if call.startswith('npm')])

    def test_are_installed_by_section(self):
        sections = self.sections()
        self.assertEqual(list(sections), ['programs', 'bundle', 'arm64', 'tests'])
        wanted = []
        for section, packages in sections.items():
            wanted += packages
            result, installed, npm = self.set_up(section)
            self.assertEqual((result.returncode, sorted(installed)), (0, sorted(wanted)), result.stderr)
            self.assertEqual(bool(npm), section == 'tests', 'the browser\'s driver is for its test')
        self.assertEqual(sorted(self.set_up()[1]), sorted(wanted), 'all, where nothing is said')

    def test_of_what_there_is_not_are_refused(self):
        for words in (['test'], ['programs', 'tests'], ['']):
            result, installed, _ = self.set_up(*words)
            self.assertEqual((result.returncode, installed), (2, []), words)
            self.assertIn('programs, bundle, arm64 or tests', result.stderr)

    def test_of_the_programs_are_all_that_quickstart_and_images_take(self):
        for path in (DEPLOY / 'quickstart', DEPLOY / 'docker' / 'Dockerfile'):
            self.assertEqual(re.findall(r'(?m)(?:^RUN deploy|here)/setup"? ?(\w*)', path.read_text()),
                             ['programs'], path)

    def test_of_the_programs_bring_what_the_programs_load(self):
        if not shutil.which('dpkg-query') or not shutil.which('objdump'):
            self.skipTest('no dpkg or no objdump')
        brought = with_depends(set(self.sections()['programs']))
        for program in (p for programs in COMPONENTS.values() for p in programs):
            for library, owners in libraries_of(program).items():
                self.assertTrue(owners & brought, f'the programs\' packages lack {library} of {owners} for {program}')

    def configure(self, folder, *more):
        """Configures as where the tests' packages are not installed."""
        hidden = [f'-DCMAKE_DISABLE_FIND_PACKAGE_{package}=ON' for package in ('GTest', 'benchmark', 'dnnl')]
        return run('cmake', '-G', 'Ninja', '-S', ROOT, '-B', folder, '-DCMAKE_BUILD_TYPE=Release', *hidden, *more)

    def test_of_the_tests_are_not_needed_to_build_the_programs(self):
        with tempfile.TemporaryDirectory() as folder:
            result = self.configure(folder)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn('GTest is not installed: the tests are not built', result.stdout)
            targets = set(re.findall(r'(?m)^(\S+): phony$', run('ninja', '-C', folder, '-t', 'targets', 'all').stdout))
            built = re.search(r'build" ([a-z -]+)$', (DEPLOY / 'quickstart').read_text(), re.MULTILINE)[1].split()
            packed = re.search(r'^programs=\(([a-z -]+)\)$', (DEPLOY / 'bundle').read_text(), re.MULTILINE)[1].split()
            self.assertEqual(set(built), PROGRAMS)
            self.assertLessEqual({*built, *packed}, targets)
            self.assertNotIn('base_test', targets)

    def test_of_the_tests_are_missed_by_who_wants_tests(self):
        options = re.search(r'options=\((-D.*)\)', (DEPLOY / 'build').read_text())[1].split()
        with tempfile.TemporaryDirectory() as folder:
            result = self.configure(folder, *options)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn('`deploy/setup` installs it', re.sub(r'\s+', ' ', result.stderr))


class Images(unittest.TestCase):
    dockerfile = (DEPLOY / 'docker' / 'Dockerfile').read_text()
    stages = stages(dockerfile)
    compose = yaml.safe_load((DEPLOY / 'docker' / 'compose.yaml').read_text())

    def words(self, service):
        """What a service of the compose file runs, the entry point of its image included."""
        stage = dict(self.stages[service['build']['target']])
        entry = service.get('entrypoint', yaml.safe_load(stage['ENTRYPOINT']))
        return entry + service.get('command', [])

    def test_hold_what_their_programs_load(self):
        if not shutil.which('dpkg-query') or not shutil.which('objdump'):
            self.skipTest('no dpkg or no objdump')
        for name, programs in COMPONENTS.items():
            installed = set(re.findall(r'\S+', ' '.join(
                rest for word, rest in self.stages[name] if word == 'RUN' and 'apt-get install' in rest)))
            brought = with_depends({p for p in installed if re.match(r'^lib[a-z]', p)}) | installed
            for program in programs:
                for library, owners in libraries_of(program).items():
                    self.assertTrue(owners & brought, f'the image {name} lacks {library} of {owners} for {program}')

    def test_run_as_nobody_in_particular(self):
        for name in COMPONENTS:
            users = [rest for word, rest in self.stages[name] if word == 'USER']
            self.assertTrue(users and not users[-1].startswith(('0', 'root')), name)

    def test_install_what_cmake_installs(self):
        loop = re.search(r'for component in ([a-z ]+);', self.dockerfile)[1].split()
        self.assertEqual(loop, list(COMPONENTS))
        for name, programs in COMPONENTS.items():
            with tempfile.TemporaryDirectory() as folder:
                result = run('cmake', '--install', BUILD, '--component', name, '--prefix', folder)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(sorted(p.name for p in (pathlib.Path(folder) / 'bin').iterdir()), sorted(programs))
            entry = yaml.safe_load(dict(self.stages[name])['ENTRYPOINT'])
            self.assertIn(entry[0], programs)

    def test_copy_what_is_there(self):
        ignored = (ROOT / '.dockerignore').read_text().split()
        self.assertEqual(ignored[0], '*')
        for name in ignored[1:]:
            self.assertTrue((ROOT / name.lstrip('!')).exists(), name)
        for module in re.search(r'foreach\(module ([a-z ]+)\)', (ROOT / 'CMakeLists.txt').read_text())[1].split():
            if module != 'tests':
                self.assertIn('!' + module, ignored, 'the build needs it')

    def test_services_run_commands_that_exist(self):
        for name, service in self.compose['services'].items():
            self.assertIn(service['build']['target'], COMPONENTS, name)
            self.assertTrue((DEPLOY / 'docker' / service['build']['context'] / service['build']['dockerfile']).exists())
            words = self.words(service)
            if words[0] == 'sh':
                found = [w for w in shell_words(words[2]) if w[0] in PROGRAMS]
                self.assertTrue(found, words)
                for command in found:
                    check_command(self, command)
            else:
                check_command(self, words)

    def test_ports_agree(self):
        tracker = self.compose['services']['tracker']
        words = self.words(tracker)
        ports = {port(flag(words, '--listen')), port(flag(words, '--http'))}
        self.assertEqual({int(str(p).split(':')[-1]) for p in tracker['ports']}, ports)
        self.assertEqual({int(p) for p in dict(self.stages['tracker'])['EXPOSE'].split()}, ports)
        health = re.search(r'HONE_HEALTH=(\S+)', dict(self.stages['tracker'])['ENV'])[1]
        self.assertEqual(health, f'https://localhost:{port(flag(words, "--http"))}/healthz')
        self.assertTrue(flag(words, '--tls-cert'), 'or the check would have to ask over http:')
        # The port that init-tls writes into the files of the others.
        made, = [w for w in shell_words(self.words(self.compose['services']['init'])[2])
                 if w[:2] == ['tracker', 'init-tls'] and '--host' in w]
        self.assertEqual(int(flag(made, '--port') or 9190), port(flag(words, '--listen')))

    def test_services_get_the_files_that_they_name_and_no_others(self):
        """What init copies into a volume is what the service that mounts it names in its flags; none but init sees the
        folder with the CA's key and everybody's."""
        services = self.compose['services']
        init = services['init']
        places = {folder: name for name, folder in (volume.split(':') for volume in init['volumes'])}
        own = next(name for folder, name in places.items() if folder == '/etc/hone')
        handed = {name: set() for folder, name in places.items() if name != own}
        for words in shell_words(init['entrypoint'][2]):
            if words[0] == 'cp':
                *files, folder = [w for w in words[1:] if not w.startswith('-')]
                handed[places[folder.rstrip('/')]].update(files)
        seen = set()
        for name, service in services.items():
            if name == 'init':
                continue
            for volume in service['volumes']:
                source, folder, *mode = volume.split(':')
                self.assertNotEqual(source, own, f'{name} would see ca.key and everybody\'s keys')
                if source not in handed:
                    continue
                values = [w.split('=', 1)[1] for w in service['command']]
                named = {pathlib.PurePath(v).name for v in values if str(pathlib.PurePath(v).parent) == folder}
                self.assertEqual((handed[source], mode), (named, ['ro']), name)
                seen.add(source)
        self.assertEqual(seen, set(handed), 'what nobody mounts need not be copied')

    def test_new_volumes_belong_to_the_programs_user(self):
        base = dict(self.stages['base'])['RUN']
        made = set(re.search(r'install -d -o hone -g hone -m 0700 (.*)', base)[1].split())
        for name, service in self.compose['services'].items():
            for volume in service.get('volumes', []):
                self.assertIn(volume.split(':')[1], made, name)

    def test_volumes_are_declared(self):
        for name, service in self.compose['services'].items():
            for volume in service.get('volumes', []):
                self.assertIn(volume.split(':')[0], self.compose['volumes'], name)


class Manifests(unittest.TestCase):
    folder = DEPLOY / 'k8s'
    documents = [d for path in sorted(folder.glob('*.yaml')) if path.name != 'kustomization.yaml'
                 for d in yaml.safe_load_all(path.read_text())]

    def find(self, kind, name):
        return next(d for d in self.documents if d['kind'] == kind and d['metadata']['name'] == name)

    def pods(self):
        for d in self.documents:
            if d['kind'] in ('Deployment', 'DaemonSet', 'Job'):
                yield d['metadata']['name'], d['spec']['template']['spec']

    def entry(self, container):
        image = container['image'].split(':')[0].removeprefix('hone-')
        return yaml.safe_load(dict(Images.stages[image])['ENTRYPOINT']) + container['args']

    def test_all_are_in_the_kustomization_but_the_job(self):
        listed = set(yaml.safe_load((self.folder / 'kustomization.yaml').read_text())['resources'])
        self.assertEqual(listed,
                         {p.name for p in self.folder.glob('*.yaml')} - {'kustomization.yaml', 'tuner-job.yaml'})
        if shutil.which('kubectl'):
            result = run('kubectl', 'kustomize', self.folder)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(
                len(list(yaml.safe_load_all(result.stdout))),
                sum(len(list(yaml.safe_load_all((self.folder / name).read_text()))) for name in listed))
        self.assertIn('create -f deploy/k8s/tuner-job.yaml', FLEET_PAGE.read_text())

    def test_the_job_reaches_the_tracker_and_nothing_else(self):
        job = self.find('Job', 'hone-tuner')['spec']
        labels = job['template']['metadata']['labels']
        tracker, own = (self.find('NetworkPolicy', name)['spec'] for name in ('hone-tracker', 'hone-tuner'))
        let_in = [peer['podSelector']['matchLabels'] for rule in tracker['ingress'] for peer in rule['from']
                  if 'podSelector' in peer]
        self.assertTrue(any(wanted.items() <= labels.items() for wanted in let_in), labels)
        self.assertLessEqual(own['podSelector']['matchLabels'].items(), labels.items())
        self.assertEqual((own['ingress'], set(own['policyTypes'])), ([], {'Ingress', 'Egress'}))
        self.assertEqual(own['egress'], self.find('NetworkPolicy', 'hone-agent')['spec']['egress'])
        claims = [v['persistentVolumeClaim']['claimName'] for v in job['template']['spec']['volumes']
                  if 'persistentVolumeClaim' in v]
        self.assertEqual(claims, ['hone-tophub'])
        self.find('PersistentVolumeClaim', claims[0])
        never = {code for rule in job['podFailurePolicy']['rules'] for code in rule['onExitCodes']['values']}
        self.assertEqual((never, job['template']['spec']['restartPolicy']), ({2, 3, 4}, 'Never'),
                         'a policy for failures needs Never')

    def test_an_agents_pod_sees_the_token_of_its_node_alone(self):
        container = self.find('DaemonSet', 'hone-agent')['spec']['template']['spec']['containers'][0]
        mount = next(m for m in container['volumeMounts'] if m['name'] == 'token')
        self.assertEqual((mount['mountPath'], mount['subPathExpr']),
                         (flag(self.entry(container), '--token-file'), '$(NODE_NAME)'))
        self.assertEqual(flag(self.entry(container), '--name'), '$(NODE_NAME)', 'the name that the token is bound to')
        self.assertEqual(next(e for e in container['env'] if e['name'] == 'NODE_NAME')['valueFrom'],
                         {'fieldRef': {'fieldPath': 'spec.nodeName'}})

    def test_containers_run_commands_that_exist(self):
        for _, pod in self.pods():
            for container in pod['containers']:
                check_command(self, self.entry(container))

    def test_ports_and_probes_agree(self):
        container = self.find('Deployment', 'hone-tracker')['spec']['template']['spec']['containers'][0]
        words = self.entry(container)
        ports = {p['name']: p['containerPort'] for p in container['ports']}
        self.assertEqual(ports, {'grpc': port(flag(words, '--listen')), 'http': port(flag(words, '--http'))})
        for probe in ('readinessProbe', 'livenessProbe'):
            get = container[probe]['httpGet']
            self.assertEqual((get['path'], get['port'], get['scheme']), ('/healthz', 'http', 'HTTPS'))
            self.assertGreater(container[probe]['timeoutSeconds'], 1, 'a handshake on a busy node')
        self.assertTrue(flag(words, '--tls-cert'), 'the probes speak TLS')
        service = self.find('Service', 'hone-tracker')
        self.assertEqual({p['targetPort']: p['port'] for p in service['spec']['ports']}, ports)
        for kind, name in (('DaemonSet', 'hone-agent'), ('Job', 'hone-tuner')):
            peer = self.find(kind, name)['spec']['template']['spec']['containers'][0]
            self.assertEqual(flag(self.entry(peer), '--tracker'), f'{service["metadata"]["name"]}:{ports["grpc"]}')
        policies = [d for d in self.documents if d['kind'] == 'NetworkPolicy']
        self.assertEqual({p['port'] for d in policies for way in ('ingress', 'egress')
                          for rule in d['spec'].get(way, []) for p in rule.get('ports', [])}, {*ports.values(), 53})

    def test_files_of_flags_are_mounted(self):
        for name, pod in self.pods():
            volumes = {v['name'] for v in pod['volumes']}
            for container in pod['containers']:
                mounts = {m['mountPath']: m['name'] for m in container['volumeMounts']}
                self.assertEqual(set(mounts.values()), volumes, name)
                for word in container['args']:
                    value = word.split('=', 1)[1]
                    if value.startswith('/'):
                        self.assertTrue(value in mounts or str(pathlib.PurePath(value).parent) in mounts, word)

    def test_secrets_are_made_by_the_page(self):
        text = FLEET_PAGE.read_text()
        for _, pod in self.pods():
            for volume in pod['volumes']:
                name = volume.get('secret', {}).get('secretName') or volume.get('configMap', {}).get('name')
                if not name:
                    continue
                made = re.search(rf'create (?:secret generic|configmap) {name} (.*)', text)
                self.assertTrue(made, name)
                mount = next(m for c in pod['containers'] for m in c['volumeMounts'] if m['name'] == volume['name'])
                used = [w.split('=', 1)[1] for c in pod['containers'] for w in c['args'] if '=/etc' in w]
                if 'subPathExpr' in mount:
                    # A file for each node, called as the node, made for the agent of that name.
                    self.assertRegex(made[1], r'^(--from-file=([A-Za-z0-9-]+)=agent-\2\.token ?)+$')
                    self.assertIn(mount['mountPath'], used)
                for path in used:
                    if str(pathlib.PurePath(path).parent) == mount['mountPath']:
                        self.assertIn(f'--from-file={pathlib.PurePath(path).name}=', made[1], path)

    def test_pods_may_do_little(self):
        for name, pod in self.pods():
            self.assertIs(pod['automountServiceAccountToken'], False, name)
            self.assertIs(pod['securityContext']['runAsNonRoot'], True, name)
            for container in pod['containers']:
                context = container['securityContext']
                self.assertEqual((context['allowPrivilegeEscalation'], context['readOnlyRootFilesystem'],
                                  context['capabilities']), (False, True, {'drop': ['ALL']}), name)
                self.assertIn('memory', container['resources']['limits'], name)
            # Without it a secret that only root may read is no use to another user.
            self.assertIn('fsGroup', pod['securityContext'], name)


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
        manifests = Manifests()
        # What the page's secrets hold under these names.
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
        self.assertIn("do not allow the name 'node-8'", refused.stderr)

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
