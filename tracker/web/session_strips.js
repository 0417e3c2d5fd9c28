// Sessions as strips, one above the other: the workload and its best config, the curve, the numbers.
import {Chart} from './chart.js';
import {h, KeyedList, setAttribute, setShown, setText} from './dom.js';
import {age, count, kWithheld, number, percent, span, workload} from './format.js';
import {modelCurve, modelText} from './model_part.js';
import {pager} from './pager.js';
import {bar, sessionLink} from './parts.js';

const kPage = 12;
const kRate = {
  unit: 'GFLOPS'
};

function figure(label) {
  const value = h('dd', null);
  return {node: h('div', null, h('dt', null, label), value), value};
}

function strip() {
  const name = h('a', {class: 'strip-name'}), of = h('span', {class: 'strip-args'});
  const tags = h('p', {class: 'dim'}), config = h('p', {class: 'config'});
  const chart = new Chart({
    label: 'Best so far',
    height: 118,
    ticks: 3,
    x: {kind: 'elapsed', unit: 'since the start'},
    y: kRate,
    series: [{name: '', tone: 'main', step: true, fill: true}],
    readout: number
  });
  const best = figure('best GFLOPS'), trials = figure('trials'), rate = figure('trials/s'), share = figure('share'),
        jobs = figure('queued · leased'), oldest = figure('oldest');
  const progress = bar();
  trials.node.append(progress.node);
  const node =
      h('article', {class: 'strip'}, h('div', {class: 'strip-what'}, h('h3', null, name, of), tags, config),
        h('div', {class: 'strip-curve'}, chart.node),
        h('dl', {class: 'strip-figures'}, best.node, trials.node, rate.node, share.node, jobs.node, oldest.node));
  let drawn = '';
  return {
    node,
    update(session) {
      const [task, args] = workload(session.withheld ? kWithheld.title : session.title);
      const summary = session.summary ?? {};
      setText(name, task);
      setAttribute(name, 'href', sessionLink(session.session));
      setText(of, args.replaceAll(',', ', '));
      setText(tags, describe(session));
      setAttribute(node, 'data-connected', session.connected);
      setText(
          config,
          session.withheld ? kWithheld.why :
                             configText(summary) || (summary.model && modelText(summary.model)) ||
                  (summary.trials ? 'best config: not known yet' : 'nothing measured yet'));
      setAttribute(config, 'title', summary.best_config ? 'the best config so far' : null);
      setText(best.value, summary.best_gflops > 0 ? number(summary.best_gflops) : '–');
      setAttribute(best.value, 'title', summary.best_seconds > 0 ? span(summary.best_seconds) : null);
      setText(
          trials.value,
          session.withheld   ? '–' :
              summary.budget ? `${count(summary.trials)} of ${count(summary.budget)}` :
                               count(summary.trials));
      progress.update(summary.budget ? summary.trials / summary.budget : 0);
      setText(rate.value, session.withheld ? '–' : number(summary.trials_per_second));
      setText(share.value, percent(session.share));
      setText(jobs.value, `${count(session.queued)} · ${count(session.leased)}`);
      setText(oldest.value, session.queued ? age(session.oldest_s) : '–');
      const curve = session.curve ?? [];
      const mark = `${curve.length} ${curve.at(-1)}`;
      if (mark !== drawn) {
        const {unit, value} = summary.model ? modelCurve(curve, summary.model) : {...kRate, value: (point) => point[2]};
        chart.setY({unit});
        chart.update([curve.map((point) => [point[0], value(point) > 0 ? value(point) : null])]);
      }
      drawn = mark;
    },
  };
}

/** The best config by its name, then its knobs; older tuners tell these alone. */
function configText(summary) {
  const knobs = summary.best_config?.replaceAll(',', ', ') ?? '';
  return summary.best_config_name ? `${summary.best_config_name}: ${knobs}` : knobs;
}

export function describe(session) {
  const words = [];
  if (!session.connected) words.push('disconnected');
  if (session.owner) words.push(session.owner);
  if (session.host) words.push(`from ${session.host}`);
  if (session.target_kind) words.push(session.target_kind);
  if (session.device_key) words.push(`on ${session.device_key}`);
  for (const label of session.labels ?? []) words.push(label);
  if (session.weight !== 1) words.push(`weight ${number(session.weight)}`);
  if (session.priority) words.push(`priority ${session.priority}`);
  return words.join(' · ');
}

export class SessionStrips {
  constructor() {
    this.page = 0;
    this.query = '';
    this.all = [];
    this.search = h('input', {
      type: 'search',
      placeholder: 'workload, device, config',
      'aria-label': 'Search sessions',
      oninput: () => this.find()
    });
    this.pager = pager('Pages of sessions', (page) => {
      this.page = page;
      this.render();
    });
    this.tools = h('div', {class: 'tools'}, this.search, this.pager.node);
    this.nothing = h('p', {class: 'dim pad', hidden: true}, 'No session matches.');
    const list = h('div', {class: 'strips'});
    this.node = h('div', null, this.nothing, list);
    this.list = new KeyedList(list, (session) => session.session, strip);
  }

  find() {
    this.query = this.search.value.trim().toLowerCase();
    this.page = 0;
    this.render();
  }

  update(sessions) {
    // Running sessions come before ended ones; within both the order is the tracker's, that of their arrival.
    this.all = [...sessions].sort((a, b) => Number(b.connected) - Number(a.connected));
    this.render();
  }

  render() {
    const words = this.query.split(/\s+/).filter(Boolean);
    const found = this.all.filter((s) => {
      const text = `${s.title} ${s.device_key ?? ''} ${s.target_kind ?? ''} ${(s.labels ?? []).join(' ')} ${
                       s.summary?.best_config_name ?? ''} ${s.summary?.best_config ?? ''} ${s.session}`
                       .toLowerCase();
      return words.every((word) => text.includes(word));
    });
    this.page = this.pager.update(this.page, found.length, kPage);
    setShown(this.search, this.all.length > kPage || this.query !== '');
    setShown(this.nothing, this.all.length > 0 && found.length === 0);
    this.list.update(found.slice(this.page * kPage, (this.page + 1) * kPage));
  }
}
