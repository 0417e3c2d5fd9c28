// A model as the session that tunes it describes it: the time of a run, and the layers that gained most.
import {h, KeyedList, setShown, setText} from './dom.js';
import {count, span, workload} from './format.js';
import {facts, section} from './parts.js';

/** How many times as fast as with the default; empty where one of the two is not known. */
export const gain = (seconds, fallback) => seconds > 0 && fallback > 0 ? `${(fallback / seconds).toFixed(2)}×` : '';

/** The time of a run in words: `12.3 ms a run, 1.42× the default`; or what is known until each workload has a time. */
export function modelText(model) {
  if (model.seconds > 0)
    return `${span(model.seconds)} a run, ${gain(model.seconds, model.default_seconds)} the default`;
  const speed = gain(model.measured_seconds, model.measured_default_seconds);
  if (!speed) return `${count(model.missing)} of ${count(model.tasks)} workloads have no time yet`;
  return `${speed} the default, ${measuredText(model)}`;
}

/** `3 of 40 workloads measured` */
const measuredText = (model) => `${count(model.tasks - model.missing)} of ${count(model.tasks)} workloads measured`;

/**
 * The curve of a model: {unit, value(point)}. Its time, when that was known from the first result on; else the share of
 * the default's time that is left in the workloads measured by then.
 */
export function modelCurve(points, model) {
  if (!points.some(([, , , seconds, share]) => share > 0 && !(seconds > 0)))
    return {unit: 'ms a run, best so far', value: (point) => point[3] * 1e3};
  const of = model?.missing > 0 ? measuredText(model) : 'best so far';
  return {unit: `% of the default’s time, ${of}`, value: (point) => point[4] * 100};
}

const kColumns = ['layers', 'each', 'default', 'gain', 'of a run', 'trials', 'config'];

function row() {
  const name = h('span', {class: 'key'}), args = h('span', {class: 'about dim'});
  const cells = kColumns.map((label) => h('td', {'data-label': label}));
  return {
    node: h('tr', null, h('td', {class: 'c-device'}, name, args), cells),
    update(task) {
      const [what, of] = workload(task.workload);
      setText(name, what);
      setText(args, of.replaceAll(',', ', '));
      const texts = [
        count(task.count), span(task.seconds), span(task.default_seconds), gain(task.seconds, task.default_seconds),
        task.share, count(task.trials), task.config_name
      ];
      texts.forEach((text, i) => setText(cells[i], text || '–'));
    }
  };
}

/** A section that is shown for models alone: update(model, or nothing). */
export function modelPart() {
  const figures = facts();
  const f = {
    seconds: figures.add('a run, the sum of its layers'),
    fallback: figures.add('with the defaults'),
    gain: figures.add('gain'),
    tasks: figures.add('workloads'),
  };
  const body = h('tbody'), more = h('p', {class: 'dim'});
  const table =
      h('div', {class: 'table-box'},
        h('table', null,
          h('thead', null,
            h('tr', null, h('th', {class: 'c-device', scope: 'col'}, 'workload'),
              kColumns.map((label) => h('th', {scope: 'col'}, label)))),
          body));
  const rows = new KeyedList(body, (task) => task.workload, row);
  const node = section('Model', figures.node, more, table);
  setShown(node, false);
  return {
    node,
    update(model) {
      setShown(node, Boolean(model));
      if (!model) return;
      f.seconds.set(model.seconds > 0 ? span(model.seconds) : 'not known yet');
      f.fallback.set(model.default_seconds > 0 ? span(model.default_seconds) : '');
      f.gain.set(
          gain(model.seconds || model.measured_seconds, model.default_seconds || model.measured_default_seconds));
      f.tasks.set(
          model.missing ? `${count(model.tasks)}, ${count(model.missing)} of them without a time` : count(model.tasks));
      const slowest = model.slowest ?? [];
      const left = model.tasks - model.missing - slowest.length;
      setText(more, left > 0 ? `The ${slowest.length} slowest are shown; ${count(left)} others are not.` : '');
      setShown(more, left > 0);
      setShown(table, slowest.length > 0);
      rows.update(slowest.map(
          (task) => ({
            ...task,
            share: model.seconds > 0 ? `${(100 * task.count * task.seconds / model.seconds).toFixed(1)}%` : ''
          })));
    }
  };
}
