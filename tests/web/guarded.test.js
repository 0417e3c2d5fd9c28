// The dashboard of a tracker with TLS and tokens: who gets in, and who may change something.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync} from 'node:fs';
import https from 'node:https';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, before, test} from 'node:test';

import {assertClean, live, startBrowser} from './browser.js';
import {kBin, start, startTracker} from './programs.js';

const folder = mkdtempSync(join(tmpdir(), 'hone-web-'));
const file = (name) => join(folder, 'tls', name);
const token = (name) => readFileSync(file(`${name}.token`), 'utf8').trim();

let browser, tracker, fleet;
before(async () => {
  execFileSync(`${kBin}/tracker`, ['init-tls', join(folder, 'tls'), '--agent', 'lab-1', '--agent', 'lab-2']);
  const flags = [
    '--tls-cert', file('tracker.pem'), '--tls-key', file('tracker.key'), '--tls-client-ca', file('ca.pem'),
    '--token-file', file('tokens')
  ];
  [browser, tracker] = await Promise.all([startBrowser(), startTracker({flags})]);
  fleet = start('web_fleet', [tracker.listen, join(folder, 'tls')]);
});
after(async () => {
  await browser?.close();
  await fleet?.stop();
  await tracker?.stop();
  rmSync(folder, {recursive: true, force: true});
});

async function on(path, options, check) {
  const opened = await browser.open(tracker.url + path, options);
  try {
    await check(opened.page);
    assertClean(opened);
  } finally {
    await opened.close();
  }
}

/**
 * The answer of a path to a password; the certificate is checked. It does not use the browser, which asks a person
 * after a refusal.
 */
const get = (path, password) => new Promise((resolve, reject) => {
  const request = https.get(
      tracker.url + path, {ca: readFileSync(file('ca.pem')), auth: password && `anyone:${password}`, agent: false},
      (response) => {
        let body = '';
        response.setEncoding('utf8')
            .on('data', (text) => (body += text))
            .on('end', () => resolve({status: response.statusCode, headers: response.headers, body}));
      });
  request.on('error', reject);
});

test('Without a token, or with a wrong one, nothing is shown', async () => {
  for (const password of [undefined, 'a-token-that-nobody-has'])
    for (const path of ['/', '/main.js', '/api/state', '/api/whoami', '/metrics']) {
      const {status, headers, body} = await get(path, password);
      assert.equal(status, 401, path);
      assert.match(headers['www-authenticate'], /^Basic /, 'a browser then asks for one');
      assert.ok(body.length < 200, body);
    }
  assert.equal((await get('/healthz')).status, 200, 'probes have no token');
  assert.deepEqual(JSON.parse((await get('/api/whoami', token('admin'))).body), {role: 'admin'});
});

test('A tuner looks and changes nothing', async () => {
  // Quiet: the browser notes the refusal on its console, and the test expects the refusal.
  await on('/#/device/lab-1%2Fcpu', {quiet: true, password: token('tuner')}, async (page) => {
    await live(page);
    await page.locator('.facts', {hasText: 'a made-up processor'}).first().waitFor();
    assert.equal(await page.getByRole('button', {name: 'Drain'}).count(), 0);
    const refused = await page.evaluate(async () => {
      const response = await fetch('/api/admin', {
        method: 'POST',
        headers: {'X-Hone': '1', 'Content-Type': 'application/json'},
        body: '{"action":"drain","name":"lab-1"}'
      });
      return response.status;
    });
    assert.equal(refused, 403);
  });
});

test('An administrator drains a device and resumes it', async () => {
  await on('/#/device/lab-2%2Fcpu', {password: token('admin')}, async (page) => {
    await live(page);
    await page.getByRole('button', {name: 'Drain'}).click();
    await page.locator('.page-head .state[data-state=draining]').waitFor();
    await page.getByRole('button', {name: 'Resume'}).click();
    await page.locator('.page-head .state:not([data-state=draining])').waitFor();
    await page.locator('.events li', {hasText: /drain/}).first().waitFor();
  });
});

test('An address with name and password in it opens the page, and its questions are answered', async () => {
  const opened = await browser.open(tracker.url.replace('://', `://anyone:${token('admin')}@`));
  try {
    await live(opened.page);
    await opened.page.locator('.key', {hasText: 'lab-1/cpu'}).waitFor();
    assertClean(opened);
  } finally {
    await opened.close();
  }
});
