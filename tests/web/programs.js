// The real programs.
import {spawn} from 'node:child_process';

export const kBin = process.env.HONE_BIN_DIR ?? new URL('../../build/bin', import.meta.url).pathname;

/** A program that runs until it is stopped; `line` is its first output. */
export function start(name, words) {
  const child = spawn(`${kBin}/${name}`, words, {stdio: ['pipe', 'pipe', 'inherit']});
  const gone = new Promise((resolve) => child.once('exit', resolve));
  return {
    line: () => new Promise((resolve, reject) => {
      child.stdout.once('data', (data) => resolve(String(data)));
      gone.then((code) => reject(new Error(`${name} ended with ${code}`)));
    }),
    stop: async () => {
      child.kill('SIGTERM');
      await gone;
    },
  };
}

/** A tracker; without an address on any free port. `flags`: TLS, tokens. */
export async function startTracker({listen = '127.0.0.1:0', http = '127.0.0.1:0', flags = []} = {}) {
  const program = start('tracker', ['--listen', listen, '--http', http, '--allow-fake', ...flags]);
  const match = /listening on ([^\s,]+), http on (\S+)/.exec(await program.line());
  return {
    listen: match[1],
    http: match[2],
    url: `${flags.length ? 'https' : 'http'}://${match[2]}`,
    stop: program.stop
  };
}
