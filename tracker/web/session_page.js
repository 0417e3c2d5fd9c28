// One session: its curve, its best config, its share of the fleet.
import {Chart} from './chart.js';
import {h, setAttribute, setShown, setText} from './dom.js';
import {age, count, kWithheld, moment, number, percent, settings, span, workload} from './format.js';
import {modelCurve, modelPart} from './model_part.js';
import {bar, eventList, facts, partsBar, section, statusParts} from './parts.js';
import {describe} from './session_strips.js';

const kAxes = {
  time: {kind: 'elapsed', unit: 'since the start'},
  trials: {kind: 'count', unit: 'trials'}
};

// The curve of a session without a model; modelCurve() draws that of a model.
const kRate = {
  unit: 'GFLOPS, best so far'
};

export function sessionPage(app, id) {
  let axis = 'time', last = null, shownConfig = null, ofModel = null;
  const heading = h('h1', {tabindex: '-1'}, 'session'), args = h('p', {class: 'config'}), tags = h('p', {class: 'dim'});
  const chart = new Chart({
    label: 'Best so far',
    height: 320,
    ticks: 6,
    x: kAxes.time,
    y: kRate,
    series: [{name: '', tone: 'main', step: true, fill: true}],
    readout: number
  });
  const choices = Object.keys(kAxes).map(
      (name) => h(
          'button', {type: 'button', class: 'chip', 'aria-pressed': String(name === axis), onclick: () => choose(name)},
          `over ${name}`));
  const figures = facts(), share = facts();
  const progress = bar();
  const f = {
    best: figures.add('best'),
    time: figures.add('time'),
    trials: figures.add('trials'),
    rate: figures.add('trials a second'),
    left: figures.add('left, at this rate'),
    share: share.add('share of device time'),
    seconds: share.add('device time so far'),
    weight: share.add('weight'),
    priority: share.add('priority'),
    jobs: share.add('queued · leased · done'),
    oldest: share.add('the oldest waits'),
    poisoned: share.add('jobs given up, as several devices lost them'),
    id: share.add('session', h('code', null))
  };
  const config = h('dl', {class: 'knobs'}), noConfig = h('p', {class: 'dim'});
  const model = modelPart();
  const configName = h('p', {class: 'config'}), configPart = section('Best config', noConfig, configName, config);
  const results = partsBar('Trials by status'), events = eventList(moment);
  const eventPart = section('Events', events.node);
  const absent = h('p', {class: 'empty', hidden: true});
  const curvePart =
            h('section', {class: 'panel'},
              h('div', {class: 'panel-head'}, h('h2', null, 'Tuning curve'),
                h('div', {class: 'tools', role: 'group', 'aria-label': 'The curve'}, choices)),
              chart.node),
        searchPart = section('Search', figures.node, progress.node),
        resultPart = section('Trials by status', results.node);
  const content =
      h('div', null, curvePart, h('div', {class: 'columns'}, searchPart, section('Fleet', share.node)), model.node,
        configPart, resultPart, eventPart);
  const node =
      h('div', null, h('p', {class: 'crumbs'}, h('a', {href: '#/'}, 'Fleet'), ' / session'),
        h('div', {class: 'page-head'}, heading), args, tags, absent, content);
  setShown(content, false);

  function choose(name) {
    axis = name;
    Object.keys(kAxes).forEach((one, i) => setAttribute(choices[i], 'aria-pressed', one === axis));
    chart.setX(kAxes[axis]);
    draw();
  }
  function draw() {
    const at = axis === 'time' ? 0 : 1;
    const {unit, value} = ofModel ? modelCurve(last ?? [], ofModel) : {...kRate, value: (point) => point[2]};
    chart.setY({unit});
    if (last) chart.update([last.map((point) => [point[at], value(point) > 0 ? value(point) : null])]);
  }

  return {
    node,
    path: `/api/session?id=${encodeURIComponent(id)}`,
    title: 'session',
    update(data) {
      const session = data.session, summary = session.summary ?? {};
      const [task, of] = workload(session.withheld ? kWithheld.title : session.title);
      setShown(absent, Boolean(session.withheld));
      if (session.withheld) setText(absent, kWithheld.why);
      setShown(content, true);
      for (const part of [curvePart, searchPart, resultPart]) setShown(part, !session.withheld);
      setText(heading, task);
      this.title = task;
      setText(args, of.replaceAll(',', ', '));
      setShown(args, of !== '');
      setText(tags, describe(session));
      last = data.curve ?? session.curve ?? [];
      ofModel = summary.model;
      draw();
      model.update(summary.model);
      // A model has a config for each workload.
      setShown(configPart, !ofModel && !session.withheld);
      f.best.set(summary.best_gflops > 0 ? `${number(summary.best_gflops)} GFLOPS` : '');
      f.time.set(summary.best_seconds > 0 && !summary.model ? span(summary.best_seconds) : '');
      f.trials.set(summary.budget ? `${count(summary.trials)} of ${count(summary.budget)}` : count(summary.trials));
      f.rate.set(number(summary.trials_per_second));
      const left = (summary.budget - summary.trials) / summary.trials_per_second;
      f.left.set(session.connected && left > 0 && Number.isFinite(left) ? age(left) : '');
      progress.update(summary.budget ? summary.trials / summary.budget : 0);
      f.share.set(percent(session.share));
      f.seconds.set(age(session.device_seconds));
      f.weight.set(number(session.weight));
      f.priority.set(session.priority ? String(session.priority) : '');
      f.jobs.set(`${count(session.queued)} · ${count(session.leased)} · ${count(session.done)}`);
      f.oldest.set(session.queued ? age(session.oldest_s) : '');
      f.poisoned.set(session.poisoned ? count(session.poisoned) : '');
      f.id.set(session.session);
      if (shownConfig !== summary.best_config) {
        shownConfig = summary.best_config;
        config.replaceChildren(...settings(summary.best_config)
                                   .map(([name, value]) => h('div', null, h('dt', null, name), h('dd', null, value))));
      }
      setText(configName, summary.best_config_name ?? '');
      setShown(configName, Boolean(summary.best_config_name));
      setShown(noConfig, !summary.best_config);
      setText(
          noConfig,
          summary.trials ? 'No config to show: the session tunes several workloads, or no config has worked yet.' :
                           'Nothing measured yet.');
      results.update(statusParts(summary.by_status, count));
      setShown(eventPart, Boolean(data.events?.length));
      events.update(data.events, data.now ?? Date.now() / 1000);
    },
    missing() {
      setShown(content, false);
      setShown(absent, true);
      setText(
          absent,
          'This tracker does not know the session: it ended a while ago, or the tracker was restarted. Its trials are in its tuner’s database.');
    },
  };
}
