// The dashboard on made-up data, in states that a real tracker cannot be brought to quickly.
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';

import {assertClean, eventually, faintTexts, live, overflow, startBrowser, until} from './browser.js';
import {answersOf, startFakeTracker} from './fake_tracker.js';
import {asModel, fleet} from './fixtures.js';

let browser;
before(async () => (browser = await startBrowser()));
after(() => browser?.close());

/** Runs `check` on a page of a fake tracker, and that the page did nothing it must not. */
async function on(answers, {path = '/', ...options}, check) {
  const fake = await startFakeTracker(answers);
  const opened = await browser.open(fake.url + path, options);
  try {
    await live(opened.page);
    await check(opened.page, fake);
    assertClean(opened);
  } finally {
    await opened.close();
    await fake.stop();
  }
}

const kAttack = '<img src=x onerror="document.body.dataset.taken=1"><script>document.body.dataset.taken=1</script>';
const deviceAt = (key) => `/#/device/${encodeURIComponent(key)}`;
const sessionAt = (id) => `/#/session/${id}`;

test('Overview: readings, sessions and devices', async () => {
  const state = fleet();
  await on(answersOf(state), {}, async (page) => {
    assert.equal(await page.locator('.reading').first().locator('.value').textContent(), '14');
    assert.equal(await page.locator('.strip').count(), state.sessions.length);
    assert.equal(await page.locator('tbody tr').count(), state.devices.length);
    const strip = page.locator('.strip', {hasText: 'dense'});
    assert.match(await strip.locator('.config').textContent(), /tile_y=8x4x4/);
    assert.match(await strip.locator('svg').textContent(), /GFLOPS.*since the start|since the start.*GFLOPS/);
    assert.match(await strip.locator('.line').getAttribute('d'), /^M[\d. HV]+$/);
    assert.match(await strip.locator('svg').getAttribute('aria-label'), /^Best so far: [\d,.]+ GFLOPS/);
  });
});

test('Overview: each page says what to type when there is nothing yet', async () => {
  await on(answersOf(fleet({devices: 0, sessions: 0})), {}, async (page) => {
    const codes = page.locator('.empty code');
    await until(page, () => document.querySelector('.empty code')?.textContent.includes('127.0.0.1:9190'));
    assert.deepEqual(await codes.allTextContents(), [
      'tuner --tracker 127.0.0.1:9190 --task conv2d --target llvm --trials 200',
      'device-agent --tracker 127.0.0.1:9190 --name lab1'
    ]);
    assert.equal(await page.locator('table').isVisible(), false);
  });
});

test('Overview: devices are searched, filtered and sorted', async () => {
  await on(answersOf(fleet({devices: 120})), {}, async (page) => {
    const keys = () => page.locator('tbody .key').allTextContents();
    assert.equal((await keys()).length, 50);
    await page.getByRole('button', {name: 'Next page'}).click();
    const second = await keys();
    assert.match(await page.locator('.pager', {hasText: '120'}).textContent(), /51–100 of 120/);
    await page.getByRole('searchbox', {name: 'Search devices'}).fill('raspberry room=2');
    const found = await page.locator('tbody tr').count();
    assert.ok(found > 0 && found < 50, `${found}`);
    assert.notDeepEqual(await keys(), second);
    await page.getByRole('searchbox', {name: 'Search devices'}).fill('nothing like it');
    assert.ok(await page.getByText('No device matches.').isVisible());
    await page.getByRole('searchbox', {name: 'Search devices'}).fill('');
    await page.getByRole('button', {name: /^draining/}).click();
    assert.deepEqual([...new Set(await page.locator('tbody .state').allTextContents())], ['draining']);
    await page.getByRole('button', {name: /^all/}).click();
    // By keyboard alone.
    await page.getByRole('button', {name: 'Done', exact: true}).focus();
    await page.keyboard.press('Enter');
    assert.equal(await page.locator('th.c-done').getAttribute('aria-sort'), 'descending');
    const done = (await page.locator('td.c-done').allTextContents()).map((text) => Number(text.replaceAll(',', '')));
    assert.deepEqual(done, [...done].sort((a, b) => b - a));
  });
});

test('A session of another token shows what it takes of the fleet, and nothing of its work', async () => {
  const state = fleet({sessions: 2}), other = state.sessions[0];
  // The tracker sends it so.
  Object.assign(other, {
    withheld: true,
    title: '',
    device_key: '',
    labels: [],
    curve: [],
    summary:
        {trials: 0, budget: 0, best_gflops: 0, best_seconds: 0, trials_per_second: 0, by_status: {}, best_config: ''}
  });
  await on(answersOf(state), {}, async (page) => {
    const strip = page.locator('.strip', {hasText: 'another token’s session'});
    assert.equal(await strip.count(), 1);
    assert.match(await strip.locator('.config').textContent(), /told to its own token and to administrators/);
    assert.doesNotMatch(await strip.innerText(), /untitled|undefined|NaN|nothing measured/);
  });
  await on(answersOf(state), {path: sessionAt(other.session)}, async (page) => {
    assert.equal(await page.locator('h1').textContent(), 'another token’s session');
    assert.ok(await page.getByText('told to its own token').isVisible());
    assert.ok(await page.getByText('share of device time').isVisible());
    for (const heading of ['Tuning curve', 'Search', 'Best config', 'Trials by status'])
      assert.equal(await page.getByRole('heading', {name: heading}).isVisible(), false, heading);
  });
});

test('Device page: facts, history, events', async () => {
  const state = fleet(), device = state.devices.find((d) => d.temperature_c !== null);
  await on(answersOf(state), {path: deviceAt(device.key)}, async (page) => {
    assert.equal(await page.locator('h1').textContent(), device.key);
    assert.match(await page.locator('.facts').first().textContent(), new RegExp(device.model.slice(0, 6)));
    assert.equal(await page.locator('.timeline:visible').count(), 5);
    for (const path of await page.locator('.timeline:visible .line').all())
      assert.ok((await path.getAttribute('d')).length > 500, 'a history has many points');
    assert.match(await page.locator('.events li').first().textContent(), /resumed/);
    assert.equal(await page.title(), `${device.key} · Hone tracker`);
    assert.equal(await page.getByRole('button', {name: 'Drain'}).count(), 0, 'who only looks is offered no action');
    const chart = page.locator('.timeline svg').first(), box = await chart.boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    assert.match(
        await page.locator('.timeline .chart-readout').first().textContent(),
        /^\d\d:\d\d:\d\d · good [\d.]+ jobs\/min/);
  });
});

test('A board that is throttled says so, and how its clocks are governed', async () => {
  const state = fleet(), device = state.devices.find((d) => d.governor === 'ondemand' && d.state === 'busy');
  const steady = state.devices.find((d) => d.governor === 'performance');
  Object.assign(device, {throttled: 'undervoltage', why: 'throttled: undervoltage'});
  await on(answersOf(state), {}, async (page) => {
    await page.getByRole('searchbox', {name: 'Search devices'}).fill('undervoltage ondemand');
    assert.equal(await page.locator('tbody tr').count(), 1);
    const row = await page.locator('tbody tr').innerText();
    assert.match(row, /throttled: undervoltage/);
    assert.match(row, /governor ondemand/);
    await page.getByRole('searchbox', {name: 'Search devices'}).fill(steady.key);
    assert.doesNotMatch(await page.locator('tbody tr').first().innerText(), /governor/, 'that is as it should be');
  });
  await on(answersOf(state), {path: deviceAt(device.key)}, async (page) => {
    const now = await page.locator('.facts').nth(1).innerText();
    assert.match(now, /governor\s+ondemand: its clocks follow the load/);
    assert.match(now, /throttled\s+undervoltage/);
  });
  await on(
      answersOf(state), {path: deviceAt(steady.key)},
      async (page) => assert.match(await page.locator('.facts').nth(1).innerText(), /governor\s+performance\s*(\n|$)/));
});

test('Device page: readings that a device does not give are left out', async () => {
  const state = fleet(), device = state.devices.find((d) => d.temperature_c === null);
  await on(answersOf(state), {path: deviceAt(device.key)}, async (page) => {
    assert.equal(await page.locator('.timeline:visible').count(), 3);
    assert.doesNotMatch(await page.locator('main').innerText(), /temperature|undefined|NaN|null/i);
  });
});

test('Device page: an administrator drains and resumes', async () => {
  const state = fleet(), device = state.devices.find((d) => d.state === 'busy');
  const asked = [];
  const answers = answersOf(state, {
    '/api/whoami': () => ({role: 'admin'}),
    '/api/admin': (url, request, body) => {
      if (request.method !== 'POST' || request.headers['x-hone'] !== '1') return [403, {error: 'not so'}];
      const {action, name} = JSON.parse(body);
      asked.push(`${action} ${name}`);
      if (action === 'quarantine') return [400, {error: 'not today'}];
      device.state = action === 'drain' ? 'draining' : 'idle';
      return {message: `${name}: ${action}`};
    },
  });
  await on(answers, {path: deviceAt(device.key), quiet: true}, async (page) => {
    await page.getByRole('button', {name: 'Drain'}).click();
    await page.locator('.page-head .state[data-state=draining]').waitFor();
    await page.getByRole('button', {name: 'Resume'}).click();
    await page.locator('.page-head .state[data-state=idle]').waitFor();
    await page.getByRole('button', {name: 'Quarantine'}).click();
    await page.getByText('The tracker refused: not today').waitFor();
    assert.deepEqual(asked, [`drain ${device.key}`, `resume ${device.key}`, `quarantine ${device.key}`]);
  });
});

test('Session page: curve over time and over trials, config, share', async () => {
  const state = fleet(), session = state.sessions[0];
  await on(answersOf(state), {path: sessionAt(session.session)}, async (page) => {
    assert.equal(await page.locator('h1').textContent(), 'conv2d');
    const line = page.locator('.chart-box .line').first();
    const overTime = await line.getAttribute('d');
    assert.match(await page.locator('svg.chart').first().textContent(), /since the start/);
    await page.getByRole('button', {name: 'over trials'}).click();
    assert.match(await page.locator('svg.chart').first().textContent(), /trials/);
    assert.notEqual(await line.getAttribute('d'), overTime);
    assert.equal(await page.locator('.knobs dd').first().textContent(), '6');
    assert.match(await page.locator('main').innerText(), /share of device time\s+20%/);
  });
});

test('Session page: a model has its time over time, and the gains of its layers', async () => {
  const state = fleet(), session = asModel(state.sessions[0]);
  await on(answersOf(state), {path: sessionAt(session.session)}, async (page) => {
    assert.equal(await page.locator('h1').textContent(), 'model mobilenet.onnx');
    assert.match(await page.locator('svg.chart').first().getAttribute('aria-label'), /: 5.00 ms a run/);
    const model = page.locator('section.panel', {has: page.locator('h2', {hasText: /^Model$/})});
    assert.match(await model.innerText(), /gain\s+1.80×/);
    assert.match(await model.innerText(), /The 32 slowest are shown; 8 others are not/);
    assert.equal(await model.locator('tbody tr').count(), 32);
    assert.deepEqual(
        await model.locator('tbody tr').first().locator('td').allTextContents(),
        ['conv2dn=1, ci=8, h=56, w=56, co=64', '1', '400.0 µs', '600.0 µs', '1.50×', '8.0%', '40', 'winograd4']);
    assert.equal(await page.locator('h2', {hasText: 'Best config'}).isVisible(), false);
  });
  await on(answersOf(state), {}, async (page) => {
    assert.match(await page.locator('.strip .config').first().textContent(), /5.00 ms a run, 1.80× the default/);
  });
});

test('Session page: a model some of whose workloads have no time yet', async () => {
  const state = fleet(), session = asModel(state.sessions[0], {tasks: 3, missing: 2});
  await on(answersOf(state), {path: sessionAt(session.session)}, async (page) => {
    const model = page.locator('section.panel', {has: page.locator('h2', {hasText: /^Model$/})});
    assert.match(await model.innerText(), /3, 2 of them without a time/);
    assert.match(
        await page.locator('svg.chart').first().getAttribute('aria-label'),
        /: 55.56 % of the default’s time, 1 of 3 workloads measured/);
    assert.match(await model.innerText(), /gain\s+1.80×/);
    assert.equal(await model.locator('tbody tr').count(), 1);
  });
  await on(answersOf(state), {}, async (page) => {
    const strip = page.locator('.strip').first();
    assert.match(await strip.locator('.config').textContent(), /1.80× the default, 1 of 3 workloads measured/);
    assert.match(await strip.locator('svg.chart').getAttribute('aria-label'), /: 55.56 % of the default’s time/);
  });
});

test('Session page: a model of a tuner that tells only whole runs', async () => {
  const state = fleet(), session = asModel(state.sessions[0]), {model} = session.summary;
  delete model.measured_seconds, delete model.measured_default_seconds;
  session.curve = session.curve.map((point, i) => i < 9 ? point.slice(0, 3) : point.slice(0, 4));
  await on(answersOf(state), {path: sessionAt(session.session)}, async (page) => {
    assert.match(await page.locator('svg.chart').first().getAttribute('aria-label'), /: 5.00 ms a run/);
  });
  model.seconds = model.default_seconds = 0;
  model.missing = 2;
  session.curve = session.curve.slice(0, 9);
  await on(answersOf(state), {path: sessionAt(session.session)}, async (page) => {
    assert.match(await page.locator('svg.chart').first().textContent(), /no data yet/);
  });
});

test('A best config is shown by its name, then by its knobs', async () => {
  const state = fleet(), session = state.sessions[0];
  session.summary.best_config_name = 'winograd4';
  await on(answersOf(state), {path: sessionAt(session.session)}, async (page) => {
    const part = page.locator('section.panel', {has: page.locator('h2', {hasText: 'Best config'})});
    assert.equal(await part.locator('.config').textContent(), 'winograd4');
    assert.ok(await part.locator('.knobs dd').count() > 0);
  });
  await on(answersOf(state), {}, async (page) => {
    assert.match(await page.locator('.strip .config').first().textContent(), /^winograd4: .*=/);
  });
});

test('Pages of what is not there say so', async () => {
  for (const path of [deviceAt('nobody/cpu'), sessionAt('0000')])
    await on(
        answersOf(fleet()), {path, quiet: true},
        async (page) => assert.match(await page.locator('main').innerText(), /does not know the (device|session)/));
});

test('A tracker that tells less is shown with dashes', async () => {
  const {version, uptime_s, devices, sessions} = fleet();
  for (const d of devices)
    for (const key
             of ['why', 'temperature_c', 'clock_mhz', 'governor', 'throttled', 'utilization', 'jobs_per_minute',
                 'labels', 'missing'])
      delete d[key];
  for (const s of sessions)
    for (const key of ['curve', 'share', 'labels', 'priority', 'device_seconds']) delete s[key];
  await on(answersOf({version, uptime_s, devices, sessions}), {}, async (page) => {
    assert.equal(await page.locator('tbody tr').count(), devices.length);
    assert.doesNotMatch(await page.locator('main').innerText(), /undefined|NaN|null|Infinity/);
  });
});

test('Text from outside stays text, wherever it is shown', async () => {
  const state = fleet({devices: 2, sessions: 1});
  const [d] = state.devices, [s] = state.sessions;
  Object.assign(d, {
    key: `${kAttack}/cpu`,
    why: kAttack,
    model: kAttack,
    target: kAttack,
    agent: kAttack,
    labels: {[kAttack]: kAttack},
    missing: [kAttack],
    versions: {[kAttack]: kAttack},
    state: 'quarantined'
  });
  Object.assign(s, {title: kAttack, device_key: kAttack, labels: [kAttack]});
  s.summary.best_config = `${kAttack},a=${kAttack}`;
  s.summary.by_status = {[kAttack]: 3};
  asModel(s);
  Object.assign(s, {title: kAttack});
  s.summary.model.slowest[0].workload = kAttack;
  state.results = {[kAttack]: 9};
  state.version = kAttack;
  const answers = answersOf(state, {
    '/api/device': () =>
        ({device: d, history: [], events: [{t: 1, what: kAttack}], by_status: {[kAttack]: 1}, phases: {}}),
    '/api/session': () => ({session: s, curve: s.curve, events: [{t: 1, what: kAttack}]}),
  });
  for (const path of ['/', deviceAt(d.key), sessionAt(s.session)])
    await on(answers, {path}, async (page) => {
      await page.locator('main h1, main h2').first().waitFor();
      assert.ok((await page.locator('main').innerText()).includes(kAttack));
      assert.equal(await page.evaluate(() => document.querySelectorAll('main img, main script').length), 0);
      assert.equal(await page.evaluate(() => document.body.dataset.taken), undefined);
    });
});

test('Every text can be read, light and dark', async () => {
  const state = fleet({devices: 60});
  asModel(state.sessions[1]);
  for (const dark of [false, true])
    for (const path
             of ['/', deviceAt(state.devices[0].key), sessionAt(state.sessions[0].session),
                 sessionAt(state.sessions[1].session)])
      await on(answersOf(state), {path, dark}, async (page) => {
        assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), dark ? 'dark' : 'light');
        assert.deepEqual(await faintTexts(page), [], `${path} ${dark ? 'dark' : 'light'}`);
      });
});

test('The chosen theme is remembered', async () => {
  await on(answersOf(fleet()), {dark: true}, async (page) => {
    const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
    const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const dark = await ground();
    await page.locator('#theme').click();
    assert.equal(await theme(), 'light');
    assert.notEqual(await ground(), dark);
    await page.reload();
    assert.equal(await theme(), 'light');
    assert.equal(await page.locator('#theme').textContent(), 'theme: light');
    await page.locator('#theme').click();
    await page.locator('#theme').click();
    assert.equal(await page.locator('#theme').textContent(), 'theme: auto');
    assert.equal(await theme(), 'dark');
  });
});

test('A phone 360 pixels wide never scrolls sideways', async () => {
  const state = fleet({devices: 60});
  const long = 'x'.repeat(200);
  state.devices[0].key = `${long}/cpu`;
  state.devices[0].why = state.devices[1].model = long;
  state.sessions[0].title = long;
  state.sessions[1].summary.best_config = long;
  asModel(state.sessions[2]).summary.model.slowest[0].workload = long;
  for (const path
           of ['/', deviceAt(state.devices[0].key), deviceAt(state.devices[2].key),
               sessionAt(state.sessions[0].session), sessionAt(state.sessions[1].session),
               sessionAt(state.sessions[2].session)])
    await on(answersOf(state), {path, width: 360, height: 740}, async (page) => {
      await page.locator('main h1').waitFor({state: 'attached'});
      assert.equal(await overflow(page), 0, path);
    });
  await on(
      answersOf(fleet({devices: 0, sessions: 0})), {width: 360, height: 740},
      async (page) => assert.equal(await overflow(page), 0));
});

test('Keyboard and screen reader: skip link, focus after navigation, names of controls', async () => {
  await on(answersOf(fleet()), {}, async (page) => {
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to the content');
    await page.locator('tbody .key').first().press('Enter');
    await page.locator('main[data-page=device] h1').waitFor();
    assert.equal(await page.evaluate(() => document.activeElement.tagName), 'H1');
    await page.goBack();
    await page.locator('main[data-page=overview] table').waitFor();
    const nameless = await page.evaluate(
        () => [...document.querySelectorAll('button, input, select, a, svg[role=img], table')]
                  .filter(
                      (e) =>
                          e.checkVisibility() && !(e.textContent.trim() || e.getAttribute('aria-label') || e.caption))
                  .map((e) => e.outerHTML.slice(0, 80)));
    assert.deepEqual(nameless, []);
  });
});

test('A tab that is not seen asks nothing', async () => {
  await on(answersOf(fleet()), {clock: true}, async (page) => {
    // Requests are counted where the page makes them: the tracker may hear of one only after the page was hidden.
    let asked = 0;
    page.on('request', (request) => (asked += request.url().endsWith('/api/state')));
    const hide = (hidden) => page.evaluate((value) => {
      Object.defineProperty(document, 'hidden', {value, configurable: true});
      document.dispatchEvent(new Event('visibilitychange'));
    }, hidden);
    await eventually(() => asked > 0, 'it polls while it is seen');
    await hide(true);
    const hiddenAt = asked;
    for (let i = 0; i < 20; ++i) await page.clock.runFor(2500);
    assert.equal(asked, hiddenAt);
    await hide(false);
    await eventually(() => asked > hiddenAt, 'and again when it is back');
  });
});

test('Ten thousand devices and two hundred sessions draw no more than a hundred do', async () => {
  const nodes = {}, update = {}, search = {};
  let everything;
  for (const devices of [100, 10000]) {
    const state = fleet({devices, sessions: devices === 100 ? 20 : 200});
    const text = JSON.stringify(state);
    await on(answersOf(state, {'/api/state': () => text}), {}, async (page) => {
      await page.locator('tbody tr').nth(49).waitFor();
      nodes[devices] = await page.evaluate(() => document.querySelectorAll('*').length);
      // A word is typed: how long until the page has found it, drawn it and is ready for the next.
      search[devices] = await page.evaluate(async () => {
        const box = document.querySelector('input[aria-label="Search devices"]');
        const times = [];
        for (const word of ['rasp', 'room=2', 'busy sm_90', 'edge', '']) {
          const start = performance.now();
          box.value = word;
          box.dispatchEvent(new Event('input'));
          await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
          times.push(performance.now() - start);
        }
        return times.sort((a, b) => a - b)[2];
      });
      // The longest time that the page did not come to draw while two answers came in.
      update[devices] = await page.evaluate(async () => {
        let longest = 0, last = performance.now();
        const answers = () =>
            performance.getEntriesByType('resource').filter((e) => e.name.endsWith('/api/state')).length;
        const gaps = [];
        for (const enough = answers() + 2; answers() < enough;) {
          await new Promise(requestAnimationFrame);
          const now = performance.now();
          gaps.push(now - last);
          longest = Math.max(longest, now - last);
          last = now;
          if (gaps.length > 3000) break;
        }
        return longest;
      });
      assert.match(await page.locator('.pager').last().textContent(), devices === 100 ? /of 100/ : /of 10,000/);
      if (devices === 100) return;
      // The time for a page that draws all of them, here and now, cells alone.
      everything = await page.evaluate(async () => {
        const start = performance.now(), body = document.createElement('tbody');
        for (let row = 0; row < 10000; ++row)
          for (let cell = 0, cells = body.insertRow(); cell < 12; ++cell)
            cells.insertCell().textContent = `${row} ${cell}`;
        document.body.appendChild(document.createElement('table')).append(body);
        await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
        return performance.now() - start;
      });
    });
  }
  console.log(`elements: ${JSON.stringify(nodes)}; search ms: ${JSON.stringify(search)}; longest pause ms: ${
      JSON.stringify(update)}; to draw everything ms: ${everything}`);
  assert.ok(nodes[10000] < 1.3 * nodes[100], 'the page does not grow with the fleet');
  for (const [what, ms] of [['a search', search[10000]], ['an update', update[10000]]])
    assert.ok(5 * ms < everything, `${what} takes ${ms} ms, and to draw all devices ${everything}`);
});

test('Until the tracker has answered nothing is said to be missing', async () => {
  let release;
  const answered = new Promise((resolve) => (release = resolve));
  const nothing = {...fleet(), devices: [], sessions: []};
  const fake = await startFakeTracker({...answersOf(nothing), '/api/state': () => answered.then(() => nothing)});
  const opened = await browser.open(fake.url);
  try {
    const {page} = opened;
    await page.getByText('Waiting for the first answer.').first().waitFor();
    for (const text of ['No session', 'No device'])
      assert.equal(await page.getByText(text).filter({visible: true}).count(), 0, text);
    release();
    await live(page);
    for (const text of ['No session is running', 'No devices yet'])
      await page.getByText(text).filter({visible: true}).waitFor();
    assert.equal(await page.getByText('Waiting for the first answer.').filter({visible: true}).count(), 0);
    assertClean(opened);
  } finally {
    release();
    await opened.close();
    await fake.stop();
  }
});
