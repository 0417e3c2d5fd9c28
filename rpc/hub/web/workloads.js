// The workloads that were measured: who, where, when, how often. A page at a time, found by a part of the text.
import {ask} from './api.js';
import {h, setShown, setText} from './dom.js';
import {count, moment, span} from './format.js';

const kLines = 50;
const kNothing = `Nothing was measured here yet. tophub sync --all --tophub ${
    globalThis.location?.origin} brings what a tophub has; sessions with --tophub bring what they confirm.`;

const cell = (label, ...content) => h('td', {role: 'cell', 'data-label': label}, ...content);

/** A line of the table; all of its texts are from outside. */
export function line(row, now = Date.now() / 1000) {
  const standing = row.confirmed ? 'confirmed' : 'provisional';
  return h(
      'tr', {role: 'row'},
      h('td', {role: 'cell', class: 'c-device'}, h('span', {class: 'key', title: row.workload}, row.workload),
        h('span', {class: 'dim about', title: row.target}, row.target)),
      cell('Best', row.best_seconds === null ? 'none' : span(row.best_seconds)),
      cell('Standing', row.best_seconds === null ? '–' : standing), cell('Trials', count(row.trials)),
      cell('Sessions', count(row.sessions)), cell('Disturbed', count(row.disturbed)),
      cell('Measured by', row.owner || 'anyone'), cell('Devices', row.devices || '–'),
      cell('Last', moment(row.last / 1000, now)));
}

const kHeads = ['Workload', 'Best', 'Standing', 'Trials', 'Sessions', 'Disturbed', 'Measured by', 'Devices', 'Last'];

/** A table with these headings and an empty body. */
export function table(caption, heads) {
  const body = h('tbody', {role: 'rowgroup'});
  const head =
      h('tr', {role: 'row'},
        ...heads.map(
            (name, i) => h('th', {role: 'columnheader', scope: 'col', class: i === 0 ? 'c-device' : undefined}, name)));
  const node =
      h('div', {class: 'table-box'},
        h('table', {role: 'table'}, h('caption', {class: 'hidden'}, caption), h('thead', {role: 'rowgroup'}, head),
          body));
  return {node, body};
}

export function workloads() {
  const {node: list, body} = table('Workloads', kHeads);
  const search = h('input', {
    type: 'search',
    placeholder: 'a part of a workload',
    'aria-label': 'Search workloads',
    oninput: () => start(search.value)
  });
  const told = h('p', {class: 'dim', role: 'status'}, 'asking');
  const more = h('button', {type: 'button', hidden: true, onclick: () => load()}, 'more');
  const node =
      h('section', {class: 'panel'},
        h('div', {class: 'panel-head'}, h('h2', null, 'Workloads'), h('div', {class: 'tools'}, search)), told, list,
        more);
  let contains = '', last = null, turn = 0;

  async function load() {
    const mine = ++turn;
    const query = new URLSearchParams({contains, limit: kLines});
    if (last) {
      query.set('workload', last.workload);
      query.set('target', last.target);
      query.set('owner', last.owner);
    }
    let answer;
    try {
      answer = await ask(`/v1/coverage?${query}`);
    } catch (error) {
      if (mine === turn) setText(told, `The tophub does not tell: ${error.message}`);
      return;
    }
    if (mine !== turn) return;  // another question was asked meanwhile
    if (!last) body.replaceChildren();
    body.append(...answer.lines.map((row) => line(row)));
    last = answer.lines.at(-1) ?? last;
    setShown(more, answer.more);
    const empty = body.children.length === 0;
    setText(told, contains ? 'No workload has this in its text.' : kNothing);
    setShown(told, empty);
    setShown(list, !empty);
  }

  function start(text) {
    contains = text;
    last = null;
    load();
  }
  return {node, start: () => start('')};
}
