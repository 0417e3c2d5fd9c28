// One device: its facts, its state since the tracker's start, and the actions of an administrator.
import {administer} from './api.js';
import {Chart} from './chart.js';
import {h, setShown, setText} from './dom.js';
import {age, bytes, clock, count, moment, number, percent, span, temperature} from './format.js';
import {steps} from './history.js';
import {eventList, facts, partsBar, section, stateBadge, statusParts} from './parts.js';

const kPhases = [
  ['queue', 'dim'], ['transfer', 'phase-1'], ['build', 'phase-2'], ['check', 'phase-3'], ['run', 'phase-4'],
  ['reference', 'phase-5'], ['idle', 'idle']
];

function timeline(title, unit, series, more = {}) {
  const chart = new Chart({
    label: title,
    height: 130,
    ticks: 3,
    x: {kind: 'clock', unit: 'time of day'},
    y: {unit, ...more.y},
    series,
    readout: more.readout ?? number
  });
  return {node: h('figure', {class: 'timeline'}, h('figcaption', null, title), chart.node), chart};
}

function adminButtons(key, app, changed) {
  const answer = h('p', {class: 'dim', role: 'status'});
  const button = (action, words) => h('button', {type: 'button', onclick: () => act(action)}, words);
  const buttons = {
    drain: button('drain', 'Drain'),
    quarantine: button('quarantine', 'Quarantine'),
    resume: button('resume', 'Resume')
  };
  async function act(action) {
    for (const one of Object.values(buttons)) one.disabled = true;
    try {
      setText(answer, await administer(action, key));
    } catch (error) {
      setText(answer, `The tracker refused: ${error.message}`);
    }
    for (const one of Object.values(buttons)) one.disabled = false;
    changed();
  }
  const group = h('div', {class: 'tools', role: 'group', 'aria-label': 'Administration'}, Object.values(buttons));
  const hint =
      h('p', {class: 'dim'}, 'An administrator can drain, quarantine or resume it here, or with ',
        h('code', null, `tracker drain ${key}`), '.');
  return {
    node: h('div', null, group, answer, hint),
    update(state) {
      const admin = app.role === 'admin';
      setShown(group, admin);
      setShown(hint, !admin);
      setShown(buttons.resume, ['draining', 'quarantined', 'probation'].includes(state));
      setShown(buttons.drain, ['idle', 'busy', 'probation'].includes(state));
      setShown(buttons.quarantine, ['idle', 'busy', 'draining', 'probation'].includes(state));
    },
  };
}

export function devicePage(app, key) {
  const state = stateBadge(), why = h('span', {class: 'why'});
  const admin = adminButtons(key, app, () => app.refresh());
  const what = facts(), now = facts();
  const f = {
    target: what.add('target', h('code', null)),
    model: what.add('model'),
    agent: what.add('agent'),
    memory: what.add('memory'),
    labels: what.add('labels'),
    versions: what.add('versions'),
    missing: what.add('isolation missing'),
    features: what.add('features'),
    capability: what.add('compute capability'),
    here: now.add('connected for'),
    load: now.add('load, last minute'),
    rate: now.add('jobs a minute'),
    leased: now.add('jobs on it now'),
    done: now.add('done'),
    failed: now.add('failed'),
    sentinel: now.add('sentinel'),
    temperature: now.add('temperature'),
    clock: now.add('clock'),
    governor: now.add('governor'),
    throttled: now.add('throttled'),
    machine: now.add('load of the whole machine')
  };
  const jobs = timeline(
      'Jobs a minute', 'jobs/min',
      [{name: 'good', tone: 'main', step: true, fill: true}, {name: 'failed', tone: 'bad', step: true}]);
  const busy = timeline('Time at work', '%', [{name: '', tone: 'main', step: true, fill: true}], {y: {end: 100}});
  const sentinel = timeline('Sentinel, a fixed piece of work', 'µs', [{name: '', tone: 'main'}], {y: {from: 'data'}});
  const warmth = timeline('Temperature', '°C', [{name: '', tone: 'warm'}], {y: {from: 'data'}});
  const speed = timeline('Clock', 'GHz', [{name: '', tone: 'main'}], {y: {from: 'data'}});
  const phases = partsBar('Time by phase'), results = partsBar('Results by status'), events = eventList(moment);
  const content =
      h('div', null, h('div', {class: 'columns'}, section('Device', what.node), section('Now', now.node)),
        section(
            'Since the tracker’s start',
            h('div', {class: 'timelines'}, jobs.node, busy.node, sentinel.node, warmth.node, speed.node)),
        h('div', {class: 'columns'}, section('Where the time went', phases.node), section('Results', results.node)),
        section('Events', events.node));
  const absent = h('p', {class: 'empty', hidden: true});
  const node =
      h('div', null, h('p', {class: 'crumbs'}, h('a', {href: '#/'}, 'Fleet'), ' / device'),
        h('div', {class: 'page-head'}, h('h1', {tabindex: '-1'}, key), state.node, why), admin.node, absent, content);
  setShown(admin.node, false);
  setShown(content, false);

  return {
    node,
    path: `/api/device?key=${encodeURIComponent(key)}`,
    title: key,
    update(data) {
      const d = data.device, unix = data.now ?? Date.now() / 1000;
      setShown(absent, false);
      setShown(content, true);
      setShown(admin.node, true);
      state.update(d.state);
      setText(why, d.why ?? '');
      setShown(why, Boolean(d.why));
      admin.update(d.state);
      f.target.set(d.target);
      f.model.set(d.model);
      f.agent.set(d.agent);
      f.memory.set(d.memory_bytes ? bytes(d.memory_bytes) : '');
      f.labels.set(Object.entries(d.labels ?? {}).map(([k, v]) => `${k}=${v}`).join(', '));
      f.versions.set(Object.entries(d.versions ?? {}).map(([k, v]) => `${k} ${v}`).join(', '));
      f.missing.set((d.missing ?? []).join(', '));
      f.features.set((d.features ?? []).join(', '));
      f.capability.set(d.compute_capability);
      f.here.set(d.state === 'lost' ? 'gone' : age(d.connected_s));
      f.load.set(percent(d.utilization));
      f.rate.set(number(d.jobs_per_minute));
      f.leased.set(count(d.leased));
      f.done.set(count(d.done));
      f.failed.set(d.failed ? `${count(d.failed)} (${percent(d.failed / Math.max(1, d.done))})` : '0');
      f.sentinel.set(d.sentinel_seconds > 0 ? span(d.sentinel_seconds) : '');
      f.temperature.set(d.temperature_c === null || d.temperature_c === undefined ? '' : temperature(d.temperature_c));
      f.clock.set(d.clock_mhz === null || d.clock_mhz === undefined ? '' : clock(d.clock_mhz));
      f.governor.set(
          d.governor && d.governor !== 'performance' ? `${d.governor}: its clocks follow the load` : d.governor);
      f.throttled.set(d.throttled);
      f.machine.set(d.load === null || d.load === undefined ? '' : percent(d.load));

      const history = data.history ?? [], width = data.bucket_s ?? 10;
      const rate = (of) => steps(history, width, unix, of);
      jobs.chart.update([
        rate((b, seconds) => ((b.done - b.failed) * 60) / seconds), rate((b, seconds) => (b.failed * 60) / seconds)
      ]);
      busy.chart.update([rate((b, seconds) => Math.min(100, (100 * b.busy_s) / seconds))]);
      // Readings; between two of them nothing is known.
      const optional = (part, of) => {
        const points = history.map((b) => [b.t, of(b)]).filter(([, y]) => y !== null);
        setShown(part.node, points.length > 0);
        part.chart.update([points]);
      };
      optional(sentinel, (b) => (b.sentinel_seconds > 0 ? b.sentinel_seconds * 1e6 : null));
      optional(warmth, (b) => b.temperature_c ?? null);
      optional(speed, (b) => (b.clock_mhz > 0 ? b.clock_mhz / 1000 : null));
      phases.update(kPhases.map(([name, tone]) => {
        const seconds = data.phases?.[name] ?? 0;
        return [name, seconds, tone, seconds < 10 ? span(seconds) : age(seconds)];
      }));
      results.update(statusParts(data.by_status, count));
      events.update(data.events, unix);
    },
    missing() {
      setShown(content, false);
      setShown(admin.node, false);
      setShown(absent, true);
      setText(
          absent,
          'This tracker does not know the device. After a restart it knows a device once its agent has connected again.');
    },
  };
}
