// The page of a team's tophub, on made-up data.
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';

import {keysOf} from '../../rpc/hub/web/keys.js';

import {assertClean, overflow, startBrowser, until} from './browser.js';
import {kTophubFolders, startFakeTracker} from './fake_tracker.js';

let browser;
before(async () => (browser = await startBrowser()));
after(() => browser?.close());

const kNow = 1750000000000;
const kTarget = 'llvm -mtriple=x86_64-linux -mcpu=znver5 -threads=2';
const kAttack = '<img src=x onerror="document.body.dataset.taken=1"><script>document.body.dataset.taken=1</script>';

const row = (n, more = {}) => ({
  workload: `dense(m=${n},n=768,k=768,dtype=f32,epilogue=none)`,
  target: kTarget,
  owner: 'tuner ann',
  devices: 'lab1/cpu',
  trials: 40 + n,
  sessions: 2,
  disturbed: 1,
  first: kNow,
  last: kNow,
  best_seconds: 0.00123,
  confirmed: true,
  ...more
});

function answersOf(rows, more = {}) {
  return {
    '/v1/whoami': () => ({tenant: 'tuner ann', role: 'tuner', hides_rows: false, version: '0.6'}),
    '/v1/misses': () => ({tenant: 'tuner ann', misses: []}),
    '/v1/coverage': (url) => {
      const contains = url.searchParams.get('contains') ?? '', after = url.searchParams.get('workload');
      const found = rows.filter((r) => r.workload.includes(contains));
      const from = after === null ? 0 : found.findIndex((r) => r.workload === after) + 1;
      const limit = Number(url.searchParams.get('limit'));
      const lines = found.slice(from, from + limit);
      return {tenant: 'tuner ann', lines, more: lines.length === limit};
    },
    ...more,
  };
}

async function on(answers, options, check) {
  const fake = await startFakeTracker(answers, 0, kTophubFolders);
  const opened = await browser.open(fake.url, options);
  try {
    await until(opened.page, () => !document.getElementById('main').textContent.includes('asking'));
    await check(opened.page, fake);
    assertClean(opened);
  } finally {
    await opened.close();
    await fake.stop();
  }
}

test('It shows who measured what, where, how often and how', async () => {
  await on(answersOf([row(1), row(2, {confirmed: false, owner: '', disturbed: 0})]), {}, async (page) => {
    const lines = page.locator('table').first().locator('tbody tr');
    assert.equal(await lines.count(), 2);
    const first = await lines.first().textContent();
    for (const part of ['dense(m=1,', kTarget, '1.23 ms', 'confirmed', '41', 'tuner ann', 'lab1/cpu'])
      assert.ok(first.includes(part), `${part} in ${first}`);
    const second = await lines.nth(1).textContent();
    for (const part of ['provisional', 'anyone']) assert.ok(second.includes(part), `${part} in ${second}`);
    assert.match(await page.locator('#about').textContent(), /tophub 0\.6 · you are tuner ann/);
    assert.ok(await overflow(page) <= 0);
  });
});

test('Workloads are searched, and turned a page at a time', async () => {
  await on(answersOf([...Array(120).keys()].map((n) => row(n))), {}, async (page) => {
    const lines = page.locator('table').first().locator('tbody tr');
    assert.equal(await lines.count(), 50);
    await page.getByRole('button', {name: 'more'}).click();
    await until(page, () => document.querySelector('tbody').children.length === 100);
    await page.getByLabel('Search workloads').fill('m=7,');
    await until(page, () => document.querySelector('tbody').children.length === 1);
    await page.getByLabel('Search workloads').fill('conv2d');
    await until(page, () => document.querySelector('tbody').children.length === 0);
    assert.ok((await page.locator('main').textContent()).includes('No workload has this in its text.'));
  });
});

test('An empty tophub says how rows come, and shows no headings over nothing', async () => {
  await on(answersOf([]), {}, async (page, fake) => {
    const text = await page.locator('main').textContent();
    assert.ok(
        text.includes(`Nothing was measured here yet. tophub sync --all --tophub ${new URL(fake.url).origin}`), text);
    await until(page, () => [...document.querySelectorAll('.table-box')].every((box) => !box.checkVisibility()));
  });
});

test('Texts from outside are texts', async () => {
  const misses = [{miss: [kAttack, kAttack], count: 3, first: kNow, last: kNow}];
  const hostile = row(1, {workload: kAttack, target: kAttack, owner: kAttack, devices: kAttack});
  await on(
      answersOf([hostile], {
        '/v1/misses': () => ({tenant: kAttack, misses}),
        '/v1/whoami': () => ({tenant: kAttack, version: kAttack}),
        '/v1/covered': () => ({covered: 0, keys: 1, absent: [[kAttack, kAttack]]})
      }),
      {}, async (page) => {
        await page.getByLabel('Workloads, one a line').fill(kAttack);
        await page.getByRole('button', {name: 'look'}).click();
        await page.locator('.absent li').waitFor();
        assert.equal(await page.locator('img[src=x], main script').count(), 0);
        assert.equal(await page.evaluate(() => document.body.dataset.taken), undefined);
        assert.ok((await page.locator('tbody').first().textContent()).includes(kAttack));
      });
});

test('Coverage of a model: its workloads are pasted', async () => {
  let asked = null;
  const covered = (url, request, text) => {
    asked = {keys: JSON.parse(text).keys, header: request.headers['x-hone']};
    return {covered: 1, keys: 2, absent: [[row(2).workload, kTarget]]};
  };
  await on(answersOf([row(1)], {'/v1/covered': covered}), {}, async (page) => {
    await page.getByLabel('Target').fill('llvm');
    await page.getByLabel('Workloads, one a line').fill(`${row(1).workload} ${kTarget}\n\n${row(2).workload}\n`);
    await page.getByRole('button', {name: 'look'}).click();
    await until(page, () => document.querySelector('.verdict').textContent === '1 of 2 layers have a best here');
    assert.deepEqual(asked.keys, [[row(1).workload, kTarget], [row(2).workload, 'llvm']]);
    assert.equal(asked.header, '1');
    assert.deepEqual(await page.locator('.absent li').allTextContents(), [row(2).workload]);
  });
});

test('A tophub that refuses is said so', async () => {
  const refused = () => [403, {error: 'agent lab lacks the role tuner that this needs'}];
  await on(answersOf([], {'/v1/coverage': refused, '/v1/misses': refused}), {quiet: true}, async (page) => {
    const text = await page.locator('main').textContent();
    assert.ok(text.includes('lacks the role tuner'), text);
  });
});

test('Small and dark screens', async () => {
  await on(answersOf([row(1)]), {width: 390, height: 800, dark: true}, async (page) => {
    assert.ok(await overflow(page) <= 0);
  });
});

test('keysOf: workloads with and without a target', () => {
  assert.deepEqual(
      keysOf(' a(x=1)\n\nb(y=2)\tllvm -threads=2 \nnonsense\n', 'cuda'),
      [['a(x=1)', 'cuda'], ['b(y=2)', 'llvm -threads=2'], ['nonsense', 'cuda']]);
});
