// The modules that need no browser.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {addressOf} from '../../tracker/web/api.js';
import {choose} from '../../tracker/web/device_table.js';
import {commands} from '../../tracker/web/empty.js';

import {age, bytes, clock, count, kDash, number, settings, short, span, workload} from '../../tracker/web/format.js';
import {steps} from '../../tracker/web/history.js';
import {axisEnd, niceTicks, timeTicks} from '../../tracker/web/ticks.js';
import {fleet} from './fixtures.js';

test('Format: numbers have three or four digits and unknown ones are a dash', () => {
  assert.deepEqual(
      [0, 0.03123, 4.2149, 187.26, 1034.2, 123456].map(number), ['0', '0.0312', '4.21', '187.3', '1,034', '123,456']);
  assert.deepEqual([null, undefined, NaN, Infinity, '7'].map(number), Array(5).fill(kDash));
  assert.equal(count(12345.6), '12,346');
  assert.deepEqual([1500, 15000, 2.5e6, 0.25].map(short), ['1500', '15k', '2.5M', '0.25']);
});

test('Format: times are told in the unit that fits', () => {
  assert.deepEqual(
      [0, 4.2e-6, 3.1e-4, 0.0042, 1.3, 250].map(span),
      ['0 s', '4.20 µs', '310.0 µs', '4.20 ms', '1.30 s', '4 min 10 s']);
  assert.deepEqual(
      [0, 59.4, 60, 125, 3600, 7500, 90000, null].map(age),
      ['0 s', '59 s', '1 min', '2 min 5 s', '1 h', '2 h 5 min', '1 d 1 h', kDash]);
  assert.deepEqual([0, 512, 2 ** 30, 1.5 * 2 ** 40].map(bytes), [kDash, '512 B', '1 GiB', '1.5 TiB']);
  assert.deepEqual([800, 3200, null].map(clock), ['800 MHz', '3.20 GHz', kDash]);
});

test('Format: configs and workloads are taken apart', () => {
  assert.deepEqual(settings('a=1,tile=4x8,flag'), [['a', '1'], ['tile', '4x8'], ['flag', '']]);
  assert.deepEqual(settings(undefined), []);
  assert.deepEqual(workload('dense(m=1,n=2)'), ['dense', 'm=1,n=2']);
  assert.deepEqual(workload('net.txt (3 workloads)'), ['net.txt (3 workloads)', '']);
  assert.deepEqual(workload(''), ['untitled', '']);
});

test('Ticks: round values within the range', () => {
  assert.deepEqual(niceTicks(0, 500, 5), [0, 100, 200, 300, 400, 500]);
  assert.deepEqual(niceTicks(0.1, 0.5, 4), [0.1, 0.2, 0.3, 0.4, 0.5]);
  assert.deepEqual(niceTicks(3, 3, 4), [3]);
  assert.deepEqual(timeTicks(0, 400, 4), [0, 120, 240, 360]);
  for (const [low, high] of [[0, 1e-9], [0, 3.7], [1e3, 1e3 + 1], [0, 1e12], [-5, 5]])
    for (const make of [niceTicks, timeTicks]) {
      const ticks = make(low, high, 5);
      assert.ok(
          ticks.length <= 100 && ticks.every((v) => v >= low - 1e-9 && v <= high * (1 + 1e-9)),
          `${low} ${high}: ${ticks}`);
    }
});

test('Ticks: an axis ends above its data, by little', () => {
  for (const most of [1e-6, 0.3, 1, 9.9, 10, 47208, 1e9]) {
    const end = axisEnd(most);
    assert.ok(end > most && end <= most * 1.6, `${most}: ${end}`);
  }
  assert.equal(axisEnd(0), 1);
});

test('Devices: found by all words in any field, and by state', () => {
  const {devices} = fleet({devices: 400});
  const query = 'raspberry room=2';
  const found = choose([...devices], {query});
  assert.ok(found.length > 0 && found.length < devices.length);
  assert.deepEqual(
      new Set(found.map((d) => d.key)),
      new Set(devices.filter((d) => d.model.startsWith('Raspberry') && d.labels.room === '2').map((d) => d.key)));
  assert.ok(choose(devices, {state: 'busy'}).every((d) => d.state === 'busy'));
  assert.equal(choose(devices, {query: 'no such thing'}).length, 0);
});

test('Devices: those that want attention come first, unknown readings last', () => {
  const {devices} = fleet({devices: 400});
  const states = choose(devices, {}).map((d) => d.state);
  const calm = states.findIndex((state) => state === 'busy' || state === 'idle');
  assert.equal(states[0], 'quarantined');
  assert.ok(states.slice(calm).every((state) => state === 'busy' || state === 'idle'));
  const warmth = choose(devices, {order: 'temperature', descending: true}).map((d) => d.temperature_c);
  const known = warmth.filter((t) => t !== null);
  assert.deepEqual(warmth.slice(0, known.length), [...known].sort((a, b) => b - a));
});

test('History: rates of whole buckets, the last of what it has lasted, one just begun not at all', () => {
  const history = [{t: 100, done: 10}, {t: 110, done: 0}, {t: 140, done: 5}];
  const rate = (now) => steps(history, 10, now, (bucket, seconds) => bucket.done / seconds);
  assert.deepEqual(rate(145), [[100, 1], [110, 0], [140, 1], [145, 1]]);
  assert.deepEqual(rate(200), [[100, 1], [110, 0], [140, 0.5], [150, 0.5]]);
  assert.deepEqual(rate(142), [[100, 1], [110, 0], [140, 0]]);
  assert.deepEqual(steps([], 10, 5, () => 1), []);
});

test('Commands: the address as the page was reached, and the files that the tracker asks for', () => {
  assert.equal(commands(null, 'lab').agent, 'device-agent --tracker lab:9190 --name lab1');
  assert.equal(
      commands({listen: '127.0.0.1:7'}, 'lab').tuner,
      'tuner --tracker 127.0.0.1:7 --task conv2d --target llvm --trials 200');
  assert.equal(
      commands({listen: '[::]:9190', tokens: true}, 'lab').agent,
      'device-agent --tracker lab:9190 --token-file agent-lab1.token --name lab1');
  assert.equal(commands({listen: '[::]:9190', tls: true, tokens: true}, 'lab').agent, 'device-agent --fleet lab1.hone');
  assert.equal(
      commands({listen: '0.0.0.0:9190', tls: true, client_certificates: true}, '10.0.0.1').tuner,
      'tuner --fleet tuner.hone --task conv2d --target llvm --trials 200');
});

test('What is asked for has no credentials in its address, whatever the page was opened with', () => {
  const place = new URL('https://any:secret@lab:9191/#/device/lab1%2Fcpu');
  assert.equal(addressOf('/api/state', place), 'https://lab:9191/api/state');
  assert.equal(addressOf('/api/device?key=a%2Fb', place), 'https://lab:9191/api/device?key=a%2Fb');
});
