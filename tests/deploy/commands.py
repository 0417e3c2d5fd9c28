"""Commands in deploy/ and docs/, and the programs that they call: what the tests of deploy/ share."""
import os
import pathlib
import re
import shlex
import subprocess

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
    """The text of `program [subcommand] --help all`: every flag."""
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
    if called[0] == 'tophub':  # every command takes the program's own flags, --db and --json
        text += help_of(called[:1])
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


# The part of this process's environment that programs get: where programs are, and how sanitizers behave.
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
