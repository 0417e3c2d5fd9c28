// The page that `tensorc --report` writes, opened from a file.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {after, before, test} from 'node:test';
import {pathToFileURL} from 'node:url';

import {assertClean, faintTexts, overflow, startBrowser} from './browser.js';
import {compared, report, variant} from './report_fixtures.js';

let browser, folder;
before(async () => {
  browser = await startBrowser();
  folder = mkdtempSync(path.join(tmpdir(), 'hone-report-'));
});
after(async () => {
  await browser?.close();
  rmSync(folder, {recursive: true, force: true});
});

/** Runs `check` on the page of a report, and that the page did nothing it must not. */
async function on(data, options, check) {
  const file = path.join(folder, 'r.html');
  writeFileSync(
      file,
      execFileSync(
          path.join(process.env.HONE_BIN_DIR, 'web_report'), {input: JSON.stringify(data), maxBuffer: 1 << 28}));
  const opened = await browser.open(pathToFileURL(file).href, options);
  try {
    await check(opened.page);
    assertClean(opened);
  } finally {
    await opened.close();
  }
}

const layersOf = (page) => page.locator('section.panel', {has: page.locator('h2', {hasText: /^Layers$/})});
const numbers = (page) => layersOf(page).locator('tbody tr:not(.detail) > th').allTextContents();
const unfold = (page) => page.evaluate(() => {
  for (const details of document.querySelectorAll('details')) details.open = true;
  for (const button of document.querySelectorAll('.fold')) button.click();
});

test('Report: layers are sorted, searched and unfolded', async () => {
  await on(report([variant({layers: 12})]), {}, async (page) => {
    assert.equal(await page.title(), 'm.onnx: report of Hone');
    // By time: the longest first, then the shortest.
    assert.equal((await numbers(page))[0], '7');
    assert.equal(await layersOf(page).locator('th[aria-sort=descending]').textContent(), 'µs');
    await layersOf(page).getByRole('button', {name: '#'}).click();
    assert.deepEqual(await numbers(page), [...Array(12).keys()].map(String));
    await layersOf(page).getByRole('button', {name: 'µs'}).click();
    await layersOf(page).getByRole('button', {name: 'µs'}).click();
    assert.equal((await numbers(page))[0], '0');
    await layersOf(page).getByRole('searchbox').fill('CONV_7 tile=8');
    assert.deepEqual(await numbers(page), ['7']);
    assert.equal(await layersOf(page).getByRole('status').textContent(), '1 of 12');
    await layersOf(page).getByRole('searchbox').fill('no such layer');
    assert.equal(await layersOf(page).locator('tbody').textContent(), 'nothing fits');
    await layersOf(page).getByRole('searchbox').fill('');
    await layersOf(page).getByRole('combobox', {name: 'Task'}).selectOption('dense');
    assert.deepEqual(await numbers(page), ['10', '3']);  // still by time, the shortest first
    await layersOf(page).locator('.fold').first().click();
    const detail = layersOf(page).locator('.detail').first();
    assert.match(await detail.textContent(), /conv_10relu_10.*tile=11.*best \(exact workload, confirmed\)/);
  });
});

test('Report: what changes of layout cost', async () => {
  const some = variant({layers: 4});
  some.layers[1].workload = 'transpose(shape=1x2x3x4,perm=0:2:3:1,dtype=f32)';
  some.layers[2].workload = 'transpose(shape=1x3x4x2,perm=0:3:1:2,dtype=f32)';
  const note = (page) => page.locator('section.panel', {hasText: 'Where the time goes'}).locator('.note').textContent();
  const share = 100 * (some.layers[1].seconds + some.layers[2].seconds) / some.layer_seconds;
  await on(report([some]), {}, async (page) => {
    assert.match(await note(page), /^Changes of layout \(transposes\): 2 layers, .*% of the layers' time\.$/);
    assert.equal(Math.round(Number(/([0-9.]+)% of/.exec(await note(page))[1])), Math.round(share));
  });
  await on(report([variant({layers: 4})]), {}, async (page) => {
    assert.equal(await note(page), 'No layer changes a layout.');
  });
});

test('Report: the keyboard is enough', async () => {
  await on(report([variant()]), {}, async (page) => {
    await layersOf(page).locator('.fold').first().focus();
    await page.keyboard.press('Enter');
    assert.equal(await layersOf(page).locator('.fold').first().getAttribute('aria-expanded'), 'true');
    assert.ok(await layersOf(page).locator('.detail').first().isVisible());
    await page.locator('.memory svg').focus();
    await page.keyboard.press('ArrowRight');
    assert.match(await page.locator('.readout').textContent(), /^conv_0_out: 4.10 kB at 0 B, steps 0 to 1/);
    await page.keyboard.press('ArrowRight');
    assert.match(await page.locator('.readout').textContent(), /^conv_1_out/);
    await page.keyboard.press('End');
    assert.match(await page.locator('.readout').textContent(), /^conv_11_out/);
    await page.keyboard.press('Escape');
    assert.match(await page.locator('.readout').textContent(), /^Point at a buffer/);
    // Whatever can be operated is reached.
    const reached = await page.evaluate(
        () => [...document.querySelectorAll('button, select, input, summary, svg')]
                  .filter((e) => e.checkVisibility() && e.tabIndex < 0)
                  .length);
    assert.equal(reached, 0);
  });
});

test('Report: the memory plan is drawn to scale', async () => {
  await on(report([variant({layers: 4})]), {}, async (page) => {
    const boxes = await page.locator('.buffer').evaluateAll((list) => list.map((r) => {
      const of = (name) => Number(r.getAttribute(name));
      return {x: of('x'), y: of('y'), width: of('width'), height: of('height')};
    }));
    assert.equal(boxes.length, 4);
    assert.ok(Math.abs(boxes[0].height - boxes[3].height) < 0.1);
    // The next begins one step later, where this one ends in the arena.
    assert.ok(Math.abs(boxes[1].x - (boxes[0].x + boxes[0].width / 2)) < 0.1);
    assert.ok(Math.abs(boxes[1].y + boxes[1].height - boxes[0].y) < 0.1);
    // A quarter of the arena is the bound.
    const bound = Number(await page.locator('.bound').getAttribute('y1'));
    assert.ok(Math.abs(bound - boxes[0].y) < 0.1);
    await page.locator('.buffer').nth(2).hover();
    assert.match(await page.locator('.readout').textContent(), /^conv_2_out/);
    await page.locator('summary', {hasText: 'as a table'}).click();
    assert.equal(await page.locator('.panel', {has: page.locator('.memory')}).locator('tbody tr').count(), 4);
  });
});

test('Report: names of a model are text', async () => {
  const attack = '</script><img src=x onerror="document.body.dataset.taken=1"><script>document.body.dataset.taken=1' +
      '</script><!-- %s \\u003c &lt; $& "\'';
  const hostile = variant({name: attack, label: attack});
  const data =
      report([hostile, variant({label: 'other'})], {model: attack, target: attack, compared: compared(hostile)});
  data.compared.notes.push(attack);
  await on(data, {}, async (page) => {
    await unfold(page);
    assert.equal(await page.locator('h1').textContent(), attack);
    assert.ok((await layersOf(page).locator('.name').first().textContent()).startsWith(attack));
    assert.equal(await page.locator('img').count(), 0);
    assert.equal(await page.evaluate(() => document.body.dataset.taken), undefined);
  });
});

test('Report: variants are switched', async () => {
  const data = report([variant({layers: 3, label: 'batch=1'}), variant({layers: 5, label: 'batch=4', timed: false})]);
  await on(data, {}, async (page) => {
    assert.equal((await numbers(page)).length, 3);
    await page.getByRole('combobox', {name: 'variant'}).selectOption('batch=4');
    assert.equal((await numbers(page)).length, 5);
    assert.match(await page.locator('.reading').first().textContent(), /not measured/);
    assert.equal(await page.locator('.buffer').count(), 5);
  });
});

test('Report: builds are compared', async () => {
  const now = variant();
  await on(report([now], {compared: compared(now)}), {}, async (page) => {
    const panel = page.locator('section.panel', {has: page.locator('h2', {hasText: 'Compared with'})});
    assert.match(await panel.locator('.notes').textContent(), /another machine/);
    assert.match(await panel.locator('.totals').textContent(), /sum of layers.*0.50×/);
    const rows = panel.locator('table:not(.totals) tbody tr:not(.detail)');
    assert.equal(await rows.count(), 13);
    await panel.getByRole('combobox', {name: 'What changed'}).selectOption('any');
    assert.equal(await rows.count(), 3);
    const texts = (await rows.allTextContents()).join('\n');
    assert.match(texts, /100.00×another config/);
    assert.match(texts, /new/);
    assert.match(texts, /old_node.*gone/);
  });
});

for (const dark of [false, true]) {
  test(`Report: ${dark ? 'dark' : 'light'}, all texts have contrast, at 1280 and 360 pixels`, async () => {
    const now = variant();
    const data = report([now, variant({label: 'b'})], {compared: compared(now)});
    for (const width of [1280, 360]) {
      await on(data, {width, dark}, async (page) => {
        await unfold(page);
        assert.deepEqual(await faintTexts(page), []);
        assert.ok(await overflow(page) <= 0, `wider than the window of ${width}`);
      });
    }
  });
}

test('Report: a model without buffers, and one of 2,000 layers', async () => {
  await on(report([{...variant({layers: 1}), buffers: [], arena_bytes: 0, arena_bound: 0}]), {}, async (page) => {
    assert.match(await page.locator('main').textContent(), /The arena is empty/);
    assert.equal(await layersOf(page).locator('th', {hasText: 'of roof'}).count(), 1);
  });
  // Times of a machine whose roof was not measured.
  const roofless = variant({layers: 2});
  for (const layer of roofless.layers) delete layer.roof_seconds;
  await on(report([roofless], {peak_gflops: undefined}), {}, async (page) => {
    assert.equal(await layersOf(page).locator('th', {hasText: 'of roof'}).count(), 0);
    assert.doesNotMatch(await page.locator('main').innerText(), /NaN|undefined/);
  });
  await on(report([variant({layers: 2000})]), {}, async (page) => {
    assert.equal((await numbers(page)).length, 2000);
    assert.equal(await page.locator('.buffer').count(), 2000);
  });
});
