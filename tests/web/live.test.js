// The dashboard of the real tracker, with agents and sessions on the real clients (web_fleet) and jobs that measure
// nothing.
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';

import {assertClean, kPatience, live, overflow, startBrowser, until} from './browser.js';
import {start, startTracker} from './programs.js';

let browser, tracker, fleet;
before(async () => {
  [browser, tracker] = await Promise.all([startBrowser(), startTracker()]);
  fleet = start('web_fleet', [tracker.listen]);
});
after(async () => {
  await browser?.close();
  await fleet?.stop();
  await tracker?.stop();
});

const pointsOf = (path) => (path?.match(/[MVL]/g) ?? []).length;

async function on(path, options, check) {
  const opened = await browser.open(tracker.url + path, options);
  try {
    await live(opened.page);
    await check(opened.page);
    assertClean(opened);
  } finally {
    await opened.close();
  }
}

test('Overview: the devices and the sessions are there, and the curve grows', async () => {
  await on('/', {}, async (page) => {
    await page.locator('.key', {hasText: 'lab-1/cpu'}).waitFor();
    await page.locator('.key', {hasText: 'lab-2/cpu'}).waitFor();
    const strip = page.locator('.strip', {hasText: 'dense'});
    await strip.waitFor();
    assert.equal(await page.locator('.strip').count(), 2);
    assert.match(await page.locator('.reading').first().innerText(), /Devices\s+2/);
    const best = async () =>
        Number((await strip.locator('.strip-figures dd').first().textContent()).replaceAll(',', ''));
    const curve = async () => pointsOf(await strip.locator('.line').getAttribute('d'));
    const grows = async (reading) => {
      const first = await reading();
      for (const end = Date.now() + kPatience; Date.now() < end; await page.waitForTimeout(100))
        if ((await reading()) > first) return true;
      return false;
    };
    assert.ok(await grows(best), 'best GFLOPS rises');
    assert.ok(await grows(curve), 'the curve gets points');
    assert.match(await strip.locator('.config').textContent(), /tile_y=8x4, tile_x=6x16, order=\d+/);
    assert.equal(await overflow(page), 0);
  });
});

test('Text from outside stays text', async () => {
  await on('/', {}, async (page) => {
    await page.locator('.strip', {hasText: '<img src=x onerror='}).waitFor();
    assert.equal(await page.locator('main img').count(), 0);
    await page.locator('.key', {hasText: 'lab-2/cpu'}).click();
    await page.locator('.facts', {hasText: 'note=<img src=x onerror='}).waitFor();
    assert.equal(await page.locator('main img').count(), 0);
    assert.equal(await page.title(), 'lab-2/cpu · Hone tracker');
  });
});

test('Device page: what it is, and its history since the tracker’s start', async () => {
  await on('/', {}, async (page) => {
    await page.locator('.key', {hasText: 'lab-1/cpu'}).click();
    await page.locator('main[data-page=device] h1', {hasText: 'lab-1/cpu'}).waitFor();
    await until(page, () => /a made-up processor/.test(document.querySelector('main').innerText));
    assert.match(await page.locator('main').innerText(), /room=2/);
    // Buckets come every ten seconds at first: two make a line.
    await until(
        page, () => (document.querySelector('.timeline .line')?.getAttribute('d').match(/[MVL]/g) ?? []).length >= 2);
    await until(page, () => document.querySelectorAll('.events li').length > 0);
    // An event of today shows no date: the tracker's clock is the wall's.
    assert.match(await page.locator('.events time').first().textContent(), /^\d\d:\d\d:\d\d$/);
    await until(page, () => /run timeout \d+/.test(document.querySelector('main').innerText));
    assert.doesNotMatch(await page.locator('main').innerText(), /undefined|NaN|null/);
  });
});

test('Session page: curve and config', async () => {
  await on('/', {}, async (page) => {
    await page.locator('.strip-name', {hasText: 'dense'}).click();
    await page.locator('main[data-page=session] h1', {hasText: 'dense'}).waitFor();
    await until(
        page, () => (document.querySelector('.chart-box .line')?.getAttribute('d').match(/[MV]/g) ?? []).length >= 2);
    assert.deepEqual(await page.locator('.knobs dt').allTextContents(), ['tile_y', 'tile_x', 'order']);
    await page.setViewportSize({width: 360, height: 740});
    assert.equal(await overflow(page), 0);
  });
});

test('A tracker that is gone is said to be, and is found again', async () => {
  await on('/', {quiet: true}, async (page) => {
    await page.locator('.key', {hasText: 'lab-1/cpu'}).waitFor();
    const {listen, http} = tracker;
    await tracker.stop();
    await page.locator('#link[data-state=down]', {hasText: /cannot be reached · last update \d+ s ago/}).waitFor();
    assert.match(await page.locator('#announce').textContent(), /Connection lost/);
    assert.equal(await page.locator('.key').count(), 2, 'what was known stays to be read');
    tracker = await startTracker({listen, http});
    await live(page);
    assert.match(await page.locator('#announce').textContent(), /answers again/);
    await page.locator('.key', {hasText: 'lab-2/cpu'}).waitFor();
    await page.locator('.strip', {hasText: 'dense'}).waitFor();
  });
});
