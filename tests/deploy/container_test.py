"""Holds the images, packages and manifests of deploy/ against the programs, so that none rots: files, libraries, flags,
ports."""
import os
import pathlib
import re
import shlex
import shutil
import tempfile
import unittest

import yaml

from commands import (BIN, BUILD, DEPLOY, FLEET_PAGE, PASSED_ON, PROGRAMS, ROOT, check_command, flag, port, run,
                      shell_words)


def stages(dockerfile):
    """Each stage's instructions, continued lines joined, with those of the stage that it goes on from in front:
    {name: [(WORD, rest)]}."""
    out, name = {}, None
    for line in re.sub(r'\\\n', ' ', re.sub(r'(?m)^\s*#.*\n', '', dockerfile)).splitlines():
        match = re.match(r'^([A-Z]+)\s+(.*)$', line)
        if not match:
            continue
        if match[1] == 'FROM':
            start, name = re.search(r'^(\S+) AS (\S+)$', match[2]).groups()
            out[name] = list(out.get(start, []))
        out[name].append((match[1], match[2]))
    return out


COMPONENTS = {'tracker': ['tracker'], 'agent': ['device-agent', 'hone-builder', 'hone-runner'],
              'tuner': ['tuner', 'tophub', 'tensorc']}
# By the stage that makes it.
IMAGES = {**COMPONENTS, 'agent-gpu': COMPONENTS['agent'], 'tophub': ['tophub'], 'postgres': []}


def check_entry(case, words):
    """check_command() of programs; PostgreSQL is started by a script."""
    if words[0] != 'start-postgres':
        return check_command(case, words)
    script = (DEPLOY / 'docker' / words[0]).read_text()
    for word in words[1:]:
        case.assertIn(f'    {word.split("=")[0]}=*)', script, words)


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

    def set_up(self, *words, **commands):
        """The packages that `setup` installs on a machine that has none of them: nothing but commands of this test's is
        called for it. `commands`: what others do, by name; `%` is the file of apt-get's and npm's calls."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / 'deploy').mkdir()
            for name in ('setup', 'packages.txt'):
                shutil.copy(DEPLOY / name, folder / 'deploy')
            (folder / 'bin').mkdir()
            for name, does in {'dpkg-query': 'exit 1', 'apt-get': f'echo "$*" >>{folder}/calls',
                               'npm': f'echo "npm $*" >>{folder}/calls', 'node': 'exit 1',
                               'sudo': '[[ $1 != -n ]] || shift; "$@"', **commands}.items():
                (folder / 'bin' / name).write_text(f'#!/bin/bash\n{does}\n'.replace('%', f'{folder}/calls'))
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
        self.assertEqual(list(sections), ['compiler', 'programs', 'boards', 'python', 'bundle', 'arm64', 'tests'])
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
            self.assertIn('arm64, tests (the default, which has all but the last) or cuda', result.stderr)

    def test_of_cuda_are_found_or_installed_or_told(self):
        nowhere = {'find': 'exit 1', 'ldconfig': 'exit 0', 'apt-cache': 'exit 0'}
        result, installed, _ = self.set_up('cuda', **nowhere)
        self.assertEqual((result.returncode, installed), (1, []))
        self.assertRegex(result.stderr, '^setup: there is no NVRTC here, and no package source has one: .*non-free')
        offered = 'echo "libnvrtc11.2 - of Debian"; echo "cuda-nvrtc-12-6 - 12.6"; echo "cuda-nvrtc-9-2 - 9.2"'
        here = '[[ ! -e % ]] || echo "\tlibnvrtc.so.12 (libc6,x86-64) => /usr/lib/libnvrtc.so.12"'
        result, installed, _ = self.set_up('cuda', **{**nowhere, 'apt-cache': offered, 'ldconfig': here})
        self.assertEqual((result.returncode, installed), (0, ['cuda-nvrtc-12-6']), result.stderr)
        self.assertIn('setup: NVRTC is /usr/lib/libnvrtc.so.12\nsetup: there is no driver', result.stdout)
        both = 'echo "\tlibnvrtc.so.11.2 (x) => /a/libnvrtc.so.11.2"; echo "\tlibcuda.so.1 (x) => /a/libcuda.so.1"'
        result, installed, _ = self.set_up('cuda', **{**nowhere, 'ldconfig': both})
        self.assertEqual((result.returncode, installed), (0, []), result.stderr)
        self.assertIn('NVRTC is /a/libnvrtc.so.11.2\nsetup: the driver is here', result.stdout)
        result, _, _ = self.set_up('cuda', **{**nowhere, 'apt-cache': offered})
        self.assertEqual(result.returncode, 1)
        self.assertIn('cuda-nvrtc-12-6 has brought no libnvrtc.so', result.stderr)

    def test_of_the_programs_are_all_that_quickstart_and_images_take(self):
        # Images compile for boards, too.
        for path, section in ((DEPLOY / 'quickstart', 'programs'), (DEPLOY / 'docker' / 'Dockerfile', 'boards')):
            self.assertEqual(re.findall(r'(?m)(?:^RUN deploy|here)/setup"? ?(\w*)', path.read_text()),
                             [section], path)

    def test_of_the_programs_bring_what_the_programs_load(self):
        if not shutil.which('dpkg-query') or not shutil.which('objdump'):
            self.skipTest('no dpkg or no objdump')
        brought = with_depends({*self.sections()['compiler'], *self.sections()['programs']})
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

    def test_of_a_fleet_are_not_needed_to_build_the_compiler(self):
        hidden = [f'-DCMAKE_DISABLE_FIND_PACKAGE_{package}=ON' for package in ('gRPC', 'prometheus-cpp', 'Boost')]
        with tempfile.TemporaryDirectory() as folder:
            result = self.configure(folder, '-DHONE_WITH_FLEET=OFF', *hidden)
            self.assertEqual(result.returncode, 0, result.stderr)
            targets = set(re.findall(r'(?m)^(\S+): phony$', run('ninja', '-C', folder, '-t', 'targets', 'all').stdout))
            self.assertLessEqual({'tensorc', 'tophub', 'hone_shared'}, targets)
            self.assertFalse({'tuner', 'tracker', 'device-agent'} & targets)
            commands = run('ninja', '-C', folder, '-t', 'commands', 'tensorc', 'tophub', 'hone_shared').stdout
            self.assertNotRegex(commands, r'hone_fleet_flags|grpc|prometheus')
            whole = self.configure(folder, '-DHONE_WITH_FLEET=ON', *hidden)
            self.assertNotEqual(whole.returncode, 0, 'the others need them')

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
        """The command line of a service of the compose file, the entry point of its image included."""
        stage = dict(self.stages[service['build']['target']])
        entry = service.get('entrypoint', yaml.safe_load(stage['ENTRYPOINT']))
        return entry + service.get('command', [])

    def test_hold_what_their_programs_load(self):
        if not shutil.which('dpkg-query') or not shutil.which('objdump'):
            self.skipTest('no dpkg or no objdump')
        for name, programs in IMAGES.items():
            installed = set(re.findall(r'\S+', ' '.join(
                rest for word, rest in self.stages[name] if word == 'RUN' and 'apt-get install' in rest)))
            brought = with_depends({p for p in installed if re.match(r'^lib[a-z]', p)}) | installed
            for program in programs:
                for library, owners in libraries_of(program).items():
                    self.assertTrue(owners & brought, f'the image {name} lacks {library} of {owners} for {program}')

    def test_run_as_nobody_in_particular(self):
        self.assertEqual(set(self.stages) - {'build', 'base'}, set(IMAGES))
        for name in IMAGES:
            users = [rest for word, rest in self.stages[name] if word == 'USER']
            self.assertTrue(users and not users[-1].startswith(('0', 'root')), name)

    def test_for_gpus_is_the_agent_with_nvrtc(self):
        added = self.stages['agent-gpu'][len(self.stages['agent']):]
        self.assertEqual(added[0], ('FROM', 'agent AS agent-gpu'))
        runs = [rest for word, rest in added if word == 'RUN']
        self.assertEqual(len(runs), 1, 'one layer')
        # deploy/setup looks in what apt knows: non-free, read anew.
        self.assertRegex(runs[0], r"sed -i 's/\^Components: main\$/Components: main non-free/' "
                                  r'/etc/apt/sources\.list\.d/debian\.sources\s.*apt-get update && deploy/setup cuda ')
        copied = next(rest for word, rest in added if word == 'COPY').split()[:-1]
        self.assertEqual(copied, ['deploy/setup', 'deploy/packages.txt'])
        for word, expected in (('ENTRYPOINT', dict(self.stages['agent'])['ENTRYPOINT']), ('USER', '10001:10001')):
            self.assertEqual(dict(added)[word], expected)
        self.assertEqual(dict(w.split('=') for w in dict(added)['ENV'].split()),
                         {'NVIDIA_VISIBLE_DEVICES': 'all', 'NVIDIA_DRIVER_CAPABILITIES': 'compute,utility'})

    def test_for_gpus_has_them_and_a_name_of_its_own(self):
        services = self.compose['services']
        device, = services['agent-gpu']['deploy']['resources']['reservations']['devices']
        self.assertEqual((device['driver'], device['capabilities']), ('nvidia', ['gpu']))
        self.assertEqual(services['agent-gpu']['profiles'], ['gpu'], 'it does not start where there is no GPU')
        commands = {name: services[name]['command'] for name in ('agent', 'agent-gpu')}
        self.assertEqual(flag(commands['agent-gpu'], '--target'), 'cuda')
        names = [pathlib.PurePath(flag(words, '--fleet')).stem for words in commands.values()]
        self.assertEqual(len(set(names)), 2)
        made = {words[i + 1] for words in shell_words(self.words(services['init'])[2]) if 'init-tls' in words
                for i, word in enumerate(words) if word == '--agent'}
        self.assertEqual(set(names), made)

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
            self.assertIn(service['build']['target'], IMAGES, name)
            self.assertEqual(service['image'], 'hone-' + service['build']['target'])
            self.assertTrue((DEPLOY / 'docker' / service['build']['context'] / service['build']['dockerfile']).exists())
            words = self.words(service)
            if words[0] == 'sh':
                found = [w for w in shell_words(words[2]) if w[0] in PROGRAMS]
                self.assertTrue(found, words)
                for command in found:
                    check_command(self, command)
            else:
                check_entry(self, words)

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
        """The files that init copies into a volume are those that the service which mounts it names; none but init
        sees the folder with the CA's key and everybody's."""
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

    def test_the_tophub_has_the_password_of_its_database(self):
        services = self.compose['services']
        script = self.words(services['init'])[2]
        self.assertIn('@postgres/hone" >postgres', script, 'the URL names the service')
        self.assertIn('cp -p password /postgres/', script)
        self.assertEqual([services[name]['profiles'] for name in ('tophub', 'postgres')], [['tophub'], ['tophub']])
        ports = dict(self.stages['tophub'])['EXPOSE'].split()
        self.assertEqual(services['tophub']['ports'], [f'{p}:{p}' for p in ports])
        self.assertEqual(ports, [str(port(flag(self.words(services['tophub']), '--listen')))])
        self.assertNotIn('ports', services['postgres'], 'nobody else dials it')

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

    def test_the_job_reaches_tracker_and_tophub_and_nothing_else(self):
        job = self.find('Job', 'hone-tuner')['spec']
        labels = job['template']['metadata']['labels']
        tracker, own = (self.find('NetworkPolicy', name)['spec'] for name in ('hone-tracker', 'hone-tuner'))
        let_in = [peer['podSelector']['matchLabels'] for rule in tracker['ingress'] for peer in rule['from']
                  if 'podSelector' in peer]
        self.assertTrue(any(wanted.items() <= labels.items() for wanted in let_in), labels)
        self.assertLessEqual(own['podSelector']['matchLabels'].items(), labels.items())
        self.assertEqual((own['ingress'], set(own['policyTypes'])), ([], {'Ingress', 'Egress'}))
        tophub = [rule for rule in own['egress'] if rule['ports'] == [{'protocol': 'TCP', 'port': 9200}]]
        self.assertEqual([rule['to'] for rule in tophub], [[{'podSelector': {'matchLabels': {'app': 'hone-tophub'}}}]])
        self.assertEqual([rule for rule in own['egress'] if rule not in tophub],
                         self.find('NetworkPolicy', 'hone-agent')['spec']['egress'])
        self.assertEqual(flag(self.entry(job['template']['spec']['containers'][0]), '--tophub'),
                         'https://hone-tophub:9200')
        claims = [v['persistentVolumeClaim']['claimName'] for v in job['template']['spec']['volumes']
                  if 'persistentVolumeClaim' in v]
        self.assertEqual(claims, ['hone-tophub'])
        self.find('PersistentVolumeClaim', claims[0])
        never = {code for rule in job['podFailurePolicy']['rules'] for code in rule['onExitCodes']['values']}
        self.assertEqual((never, job['template']['spec']['restartPolicy']), ({2, 3, 4}, 'Never'),
                         'a policy for failures needs Never')

    def test_an_agents_pod_sees_the_token_of_its_node_alone(self):
        for agent, name in (('hone-agent', '$(NODE_NAME)'), ('hone-agent-gpu', '$(NODE_NAME)-gpu')):
            container = self.find('DaemonSet', agent)['spec']['template']['spec']['containers'][0]
            mount = next(m for m in container['volumeMounts'] if m['name'] == 'token')
            self.assertEqual((mount['mountPath'], mount['subPathExpr']),
                             (flag(self.entry(container), '--token-file'), name))
            self.assertEqual(flag(self.entry(container), '--name'), name, 'the name that the token is bound to')
            self.assertEqual(next(e for e in container['env'] if e['name'] == 'NODE_NAME')['valueFrom'],
                             {'fieldRef': {'fieldPath': 'spec.nodeName'}})

    def test_gpus_are_asked_for_whole_where_there_are_some(self):
        daemons = self.find('DaemonSet', 'hone-agent-gpu')['spec']
        pod = daemons['template']['spec']
        container = pod['containers'][0]
        self.assertEqual(container['image'].split(':')[0], 'hone-agent-gpu')
        self.assertEqual(flag(self.entry(container), '--target'), 'cuda')
        gpus = {kind: container['resources'][kind]['nvidia.com/gpu'] for kind in ('requests', 'limits')}
        self.assertEqual(gpus, {'requests': 1, 'limits': 1}, 'Kubernetes wants the two to be equal')
        self.assertEqual(pod['nodeSelector'], {'nvidia.com/gpu.present': 'true', 'hone.dev/gpu': 'agent'})
        self.assertEqual((pod['runtimeClassName'], pod['tolerations']),
                         ('nvidia', [{'key': 'nvidia.com/gpu', 'operator': 'Exists', 'effect': 'NoSchedule'}]))
        given = {e['name']: e.get('value') for e in container['env']}
        self.assertEqual(given['NVIDIA_DRIVER_CAPABILITIES'], 'compute,utility')
        self.assertNotIn('NVIDIA_VISIBLE_DEVICES', given, 'the device plugin says which GPUs the pod has')
        self.assertIn('kubectl label node NODE-1 hone.dev/gpu=agent', FLEET_PAGE.read_text())

    def test_agents_reach_the_tracker_and_nothing_else(self):
        tracker, own = (self.find('NetworkPolicy', name)['spec'] for name in ('hone-tracker', 'hone-agent'))
        let_in = [peer['podSelector']['matchLabels'] for rule in tracker['ingress'] for peer in rule['from']
                  if 'podSelector' in peer]
        choice, = own['podSelector']['matchExpressions']
        self.assertEqual((choice['key'], choice['operator']), ('app', 'In'))
        daemons = [d for d in self.documents if d['kind'] == 'DaemonSet']
        self.assertEqual({d['metadata']['name'] for d in daemons}, set(choice['values']))
        for d in daemons:
            labels = d['spec']['template']['metadata']['labels']
            self.assertEqual(labels, d['spec']['selector']['matchLabels'])
            self.assertIn(labels['app'], choice['values'])
            self.assertIn(labels, let_in)
        self.assertEqual((own['ingress'], set(own['policyTypes'])), ([], {'Ingress', 'Egress'}))

    def test_containers_run_commands_that_exist(self):
        for _, pod in self.pods():
            for container in pod['containers']:
                check_entry(self, self.entry(container))

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
        for kind, name in (('DaemonSet', 'hone-agent'), ('DaemonSet', 'hone-agent-gpu'), ('Job', 'hone-tuner')):
            peer = self.find(kind, name)['spec']['template']['spec']['containers'][0]
            self.assertEqual(flag(self.entry(peer), '--tracker'), f'{service["metadata"]["name"]}:{ports["grpc"]}')
        policies = [d for d in self.documents if d['kind'] == 'NetworkPolicy']
        self.assertEqual({p['port'] for d in policies for way in ('ingress', 'egress')
                          for rule in d['spec'].get(way, []) for p in rule.get('ports', [])},
                         {*ports.values(), 53, 9200, 5432})

    def test_the_tophub_reaches_its_database_and_nobody_else_does(self):
        pods = {name: self.find('Deployment', name)['spec']['template'] for name in ('hone-tophub', 'hone-postgres')}
        policies = {name: self.find('NetworkPolicy', name)['spec'] for name in pods}
        for name, template in pods.items():
            container = template['spec']['containers'][0]
            ports = {p['name']: p['containerPort'] for p in container['ports']}
            self.assertEqual({p['targetPort']: p['port'] for p in self.find('Service', name)['spec']['ports']}, ports)
            self.assertEqual(policies[name]['podSelector']['matchLabels'], template['metadata']['labels'])
            rule, = policies[name]['ingress']
            self.assertEqual([p['port'] for p in rule['ports']], list(ports.values()))
            self.assertEqual(self.find('Deployment', name)['spec']['selector']['matchLabels'],
                             template['metadata']['labels'])
        words = self.entry(pods['hone-tophub']['spec']['containers'][0])
        self.assertEqual(port(flag(words, '--listen')), 9200)
        self.assertTrue(flag(words, '--tls-cert'), 'the probe speaks TLS')
        out, _ = policies['hone-tophub']['egress']
        inside, = policies['hone-postgres']['ingress']
        self.assertEqual(out['to'][0]['podSelector']['matchLabels'], pods['hone-postgres']['metadata']['labels'])
        self.assertEqual([p['podSelector']['matchLabels'] for p in inside['from']],
                         [pods['hone-tophub']['metadata']['labels']])
        self.assertEqual(self.find('Deployment', 'hone-postgres')['spec']['strategy'], {'type': 'Recreate'})
        self.assertIn('@hone-postgres/hone', FLEET_PAGE.read_text(), 'the URL of the secret names the service')

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


if __name__ == '__main__':
    unittest.main()
