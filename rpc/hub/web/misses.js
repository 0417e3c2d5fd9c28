// Workloads that builds asked for and nobody had measured.
import {ask} from './api.js';
import {h, setShown, setText} from './dom.js';
import {count, moment} from './format.js';
import {table} from './workloads.js';

export function missLine(miss, now = Date.now() / 1000) {
  const [workload, target] = miss.miss;
  return h(
      'tr', {role: 'row'},
      h('td', {role: 'cell', class: 'c-device'}, h('span', {class: 'key', title: workload}, workload),
        h('span', {class: 'dim about', title: target}, target)),
      h('td', {role: 'cell', 'data-label': 'Asked for'}, count(miss.count)),
      h('td', {role: 'cell', 'data-label': 'Last'}, moment(miss.last / 1000, now)));
}

export function misses() {
  const {node: list, body} = table('Misses', ['Workload', 'Asked for', 'Last']);
  const told = h('p', {class: 'dim', role: 'status'}, 'asking');
  const node =
      h('section', {class: 'panel'}, h('div', {class: 'panel-head'}, h('h2', null, 'Asked for in vain')), told, list);
  return {
    node,
    async start() {
      try {
        const answer = await ask('/v1/misses?limit=50');
        body.replaceChildren(...answer.misses.map((miss) => missLine(miss)));
        setText(told, 'Every workload that was asked for has a best here.');
        setShown(told, answer.misses.length === 0);
        setShown(list, answer.misses.length > 0);
      } catch (error) {
        setText(told, `The tophub does not tell: ${error.message}`);
      }
    },
  };
}
