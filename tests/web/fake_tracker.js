// Serves the dashboard's files as they lie in the source and made-up JSON, with the headers that the tracker sends. For
// tests of states that a real tracker cannot be brought to quickly, and for working on the pages: `node
// tests/web/fake_tracker.js [PORT]`.
import {readFile} from 'node:fs/promises';
import {createServer} from 'node:http';
import {extname} from 'node:path';
import {fileURLToPath} from 'node:url';

import {deviceDetail, fleet} from './fixtures.js';

const kAssets = fileURLToPath(new URL('../../tracker/web/', import.meta.url));
const kTypes = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml'
};
export const kPolicy =
    'default-src \'none\'; script-src \'self\'; style-src \'self\'; img-src \'self\' data:; connect-src \'self\'; frame-ancestors \'none\'';

/** The folders of the tophub's page: its own files, then those that it has from the tracker's. */
export const kTophubFolders = [fileURLToPath(new URL('../../rpc/hub/web/', import.meta.url)), kAssets];

/**
 * answers: path -> (URL, method) => object, or [status, object], or a promise of either. Assets come from the source
 * unless a path is given here: from the first of `folders` that has the file.
 */
export async function startFakeTracker(answers, port = 0, folders = [kAssets]) {
  const server = createServer(async (request, response) => {
    const url = new URL(request.url, 'http://fake');
    const send = (status, type, body) => response
                                             .writeHead(status, {
                                               'Content-Type': type,
                                               'Cache-Control': 'no-store',
                                               'Content-Security-Policy': kPolicy,
                                               'X-Content-Type-Options': 'nosniff'
                                             })
                                             .end(body);
    const answer = answers[url.pathname];
    if (answer) {
      let text = '';
      for await (const piece of request) text += piece;
      const reply = await answer(url, request, text);
      return Array.isArray(reply) ?
          send(reply[0], 'application/json', JSON.stringify(reply[1])) :
          send(200, 'application/json', typeof reply === 'string' ? reply : JSON.stringify(reply));
    }
    const name = url.pathname === '/' ? 'index.html' : url.pathname.slice(1);
    if (!/^[a-z_]+\.[a-z]+$/.test(name)) return send(404, 'text/plain', 'no such page\n');
    for (const folder of folders) {
      try {
        return send(200, kTypes[extname(name)], await readFile(folder + name));
      } catch {
      }
    }
    send(404, 'text/plain', 'no such page\n');
  });
  await new Promise((resolve, reject) => server.listen(port, '127.0.0.1', resolve).on('error', reject));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    stop: () => new Promise((resolve) => (server.close(resolve), server.closeAllConnections())),
  };
}

/** The answers of a tracker with this fleet; `more` replaces some. */
export function answersOf(state, more = {}) {
  return {
    '/api/state': () => state,
    '/api/device': (url) => {
      const found = state.devices.find((d) => d.key === url.searchParams.get('key'));
      return found ? deviceDetail(found) : [404, {error: 'no such device'}];
    },
    '/api/session': (url) => {
      const found = state.sessions.find((s) => s.session === url.searchParams.get('id'));
      return found ? {session: found, curve: found.curve, events: []} : [404, {error: 'no such session'}];
    },
    '/api/whoami': () => ({role: 'open'}),
    '/api/about': () => ({version: state.version, listen: '127.0.0.1:9190', tls: false, tokens: false}),
    ...more,
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const fake = await startFakeTracker(answersOf(fleet()), Number(process.argv[2] ?? 8181));
  console.log(fake.url);
}
