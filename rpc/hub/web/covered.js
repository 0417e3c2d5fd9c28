// How much of a model has a best here: its workloads are pasted, one a line.
import {ask} from './api.js';
import {h, setShown, setText} from './dom.js';
import {count} from './format.js';
import {keysOf} from './keys.js';

export function covered() {
  const text = h('textarea', {'aria-label': 'Workloads, one a line', placeholder: 'dense(m=1,n=1000,k=2048,…)'});
  const target = h('input', {type: 'text', 'aria-label': 'Target', placeholder: 'llvm -mtriple=…'});
  const verdict = h('p', {class: 'verdict', role: 'status'});
  const absent = h('ul', {class: 'absent'});
  const look = h('button', {type: 'button', onclick: () => check()}, 'look');
  const node =
      h('section', {class: 'panel'},
        h('div', {class: 'panel-head'}, h('h2', null, 'Coverage of a model'), h('div', {class: 'tools'}, target, look)),
        text, verdict, absent);

  async function check() {
    const keys = keysOf(text.value, target.value.trim());
    absent.replaceChildren();
    if (!keys.length) return setText(verdict, 'Paste the workloads of a model, one a line.');
    try {
      const answer = await ask(
          '/v1/covered',
          {method: 'POST', headers: {'Content-Type': 'application/json', 'X-Hone': '1'}, body: JSON.stringify({keys})});
      setText(verdict, `${count(answer.covered)} of ${count(answer.keys)} layers have a best here`);
      absent.replaceChildren(...answer.absent.map(([workload, where]) => h('li', {title: where}, workload)));
      setShown(absent, answer.absent.length > 0);
    } catch (error) {
      setText(verdict, `The tophub does not tell: ${error.message}`);
    }
  }
  return {node};
}
