"""The start of PostgreSQL in its container, deploy/docker/start-postgres, tried with the PostgreSQL that is installed
here, as a user of its own; and a team's tophub over it."""
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from commands import BIN, DEPLOY, run

SCRIPT = DEPLOY / 'docker' / 'start-postgres'
PROGRAMS = sorted(pathlib.Path('/usr/lib/postgresql').glob('*/bin/initdb'))


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


@unittest.skipUnless(PROGRAMS, 'PostgreSQL is not installed')
class StartPostgres(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / 'password').write_text('p4ss')
        (self.folder / 'data').mkdir()
        self.as_user = []
        if os.geteuid() == 0:
            user = pwd.getpwnam('postgres')
            for path in (self.folder, self.folder / 'data', self.folder / 'password'):
                os.chown(path, user.pw_uid, user.pw_gid)
            self.as_user = ['setpriv', f'--reuid={user.pw_uid}', f'--regid={user.pw_gid}', '--clear-groups', '--']
        self.port = free_port()

    def start(self):
        server = subprocess.Popen([*self.as_user, SCRIPT, f'--data={self.folder}/data',
                                   f'--password-file={self.folder}/password', '--listen=127.0.0.1',
                                   f'--port={self.port}'],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                  cwd='/', env={'PATH': os.environ['PATH']})
        self.addCleanup(server.stderr.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        for _ in range(600):
            if not run(PROGRAMS[-1].parent / 'pg_isready', '--quiet', '--host=127.0.0.1',
                       f'--port={self.port}').returncode:
                return server
            self.assertIsNone(server.poll(), 'it has ended')
            time.sleep(0.1)
        self.fail('it takes no connections')

    def psql(self, password, sql='SELECT current_user, current_database()'):
        return run(PROGRAMS[-1].parent / 'psql', '--no-psqlrc', '--tuples-only', '--no-align', '--no-password',
                   '--host=127.0.0.1', f'--port={self.port}', '--username=hone', '--dbname=hone', f'--command={sql}',
                   env={**os.environ, 'PGPASSWORD': password})

    def test_makes_a_cluster_once_that_wants_the_password(self):
        server = self.start()
        self.assertEqual(self.psql('p4ss').stdout.strip(), 'hone|hone')
        refused = self.psql('wrong')
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn('password authentication failed', refused.stderr)
        self.assertEqual(self.psql('p4ss', 'SHOW server_encoding').stdout.strip(), 'UTF8')
        self.assertEqual(self.psql('p4ss', 'CREATE TABLE kept (x int)').returncode, 0)
        server.send_signal(signal.SIGINT)
        self.assertEqual(server.wait(60), 0)
        self.start()
        self.assertEqual(self.psql('p4ss', 'SELECT count(*) FROM kept').stdout.strip(), '0', 'the same cluster')

    def test_begins_anew_after_a_start_that_was_cut_short(self):
        (self.folder / 'data' / 'cluster.new').mkdir()
        (self.folder / 'data' / 'cluster.new' / 'PG_VERSION').write_text('15')
        if self.as_user:
            run('chown', '-R', 'postgres:', self.folder / 'data')
        self.start()
        self.assertEqual(self.psql('p4ss').stdout.strip(), 'hone|hone')

    def test_says_what_it_needs(self):
        for words, said in (([], 'needs --data'), (['--data=/x', '--password-file=/none'], 'which can be read'),
                            (['--help'], "not '--help'")):
            result = run(SCRIPT, *words)
            self.assertEqual(result.returncode, 2)
            self.assertIn(said, result.stderr)

    def test_holds_the_rows_of_a_tophub(self):
        self.start()
        url = self.folder / 'url'
        url.write_text(f'postgresql://hone:p4ss@127.0.0.1:{self.port}/hone\n')
        url.chmod(0o600)
        server = subprocess.Popen([BIN / 'tophub', 'serve', f'--listen=127.0.0.1:{free_port()}',
                                   f'--postgres-file={url}'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            line = server.stdout.readline()
            self.assertIn('serving PostgreSQL on 127.0.0.1:', line)
            self.assertEqual(self.psql('p4ss', 'SELECT version FROM hone_team').stdout.strip(), '1')
        finally:
            server.terminate()
            out, errors = server.communicate(timeout=60)
        self.assertNotIn('p4ss', line + out + errors)


if __name__ == '__main__':
    unittest.main()
