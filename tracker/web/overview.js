// The fleet at a glance: readings, sessions with their curves, devices.
import {Trend} from './chart.js';
import {DeviceTable} from './device_table.js';
import {h, setShown, setText} from './dom.js';
import {empty} from './empty.js';
import {age, count, number, percent} from './format.js';
import {kStates, partsBar, statusParts} from './parts.js';
import {SessionStrips} from './session_strips.js';

function reading(title, ...children) {
  const value = h('p', {class: 'value'});
  const note = h('p', {class: 'note'});
  return {node: h('section', {class: 'reading'}, h('h2', null, title), value, note, ...children), value, note};
}

const sum = (items, of) => items.reduce((total, item) => total + (of(item) || 0), 0);

export function overview(app) {
  const states = partsBar('Devices by state'), results = partsBar('Results by status');
  const rate = new Trend('Jobs a minute, the last minutes'), waiting = new Trend('Queued jobs, the last minutes');
  const devices = reading('Devices', states.node);
  const throughput = reading('Jobs a minute', rate.node);
  const queue = reading('Queue', waiting.node);
  const outcome = reading('Results', results.node);
  const strips = new SessionStrips(), table = new DeviceTable();
  const noSessions = empty.sessions(app), noDevices = empty.devices(app);
  const unknown = [empty.unknown(), empty.unknown()];
  for (const {node} of [noSessions, noDevices, table]) setShown(node, false);
  for (const tools of [strips.tools, table.tools]) setShown(tools, false);
  const readings = h('div', {class: 'readings'}, devices.node, throughput.node, queue.node, outcome.node);
  const node =
      h('div', null, h('h1', {class: 'hidden', tabindex: '-1'}, 'The fleet'), readings,
        h('section', {class: 'panel'}, h('div', {class: 'panel-head'}, h('h2', null, 'Sessions'), strips.tools),
          unknown[0], noSessions.node, strips.node),
        h('section', {class: 'panel'}, h('div', {class: 'panel-head'}, h('h2', null, 'Devices'), table.tools),
          unknown[1], noDevices.node, table.node));

  return {
    node,
    path: '/api/state',
    title: 'Fleet',
    update(state) {
      app.about({version: state.version, uptime: state.uptime_s});
      const all = state.devices ?? [], sessions = state.sessions ?? [];
      const here = all.filter((device) => device.state !== 'lost');
      setText(devices.value, count(all.length));
      setText(
          devices.note,
          all.length ? `${
                           percent(
                               sum(here, (d) => d.utilization) /
                               Math.max(1, here.length))} of their last minute spent measuring` :
                       'none has connected');
      states.update(kStates.toReversed().map((name) => {
        const n = all.filter((device) => device.state === name).length;
        return [name, n, name, count(n)];
      }));
      const perMinute = sum(here, (d) => d.jobs_per_minute);
      setText(throughput.value, perMinute < 100 ? number(perMinute) : count(perMinute));
      setText(throughput.note, `${count(sum(all, (d) => d.done))} done since the devices connected`);
      rate.add(perMinute);
      const queued = state.queue?.queued ?? sum(sessions, (s) => s.queued),
            leased = state.queue?.leased ?? sum(sessions, (s) => s.leased);
      setText(queue.value, count(queued));
      setText(
          queue.note,
          `${count(leased)} leased${
              queued ? ` · the oldest waits ${
                           age(state.queue?.oldest_s ?? Math.max(0, ...sessions.map((s) => s.oldest_s)))}` :
                       ''}`);
      waiting.add(queued);
      const total = sum(Object.values(state.results ?? {}), (n) => n);
      setText(outcome.value, count(total));
      // A job that its tuner took back has no outcome.
      const judged = total - (state.results?.cancelled ?? 0);
      setText(outcome.note, judged ? `${percent((state.results.ok ?? 0) / judged)} ok` : 'nothing measured yet');
      results.update(statusParts(state.results, count));

      for (const node of unknown) setShown(node, false);
      setShown(noSessions.node, sessions.length === 0);
      setShown(strips.tools, sessions.length > 0);
      strips.update(sessions);
      setShown(noDevices.node, all.length === 0);
      setShown(table.tools, all.length > 0);
      setShown(table.node, all.length > 0);
      table.update(all);
      noSessions.update(all.length > 0);
      noDevices.update();
    },
    missing() {},
  };
}
