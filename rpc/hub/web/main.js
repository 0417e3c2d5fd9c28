// The tophub's page: what was measured, what is missing, how much of a model is there.
import {ask} from './api.js';
import {covered} from './covered.js';
import {h, setText} from './dom.js';
import {misses} from './misses.js';
import {workloads} from './workloads.js';

const parts = [workloads(), misses(), covered()];
document.getElementById('main').replaceChildren(
    h('h1', {class: 'hidden', tabindex: '-1'}, 'The tophub'), ...parts.map((part) => part.node));
for (const part of parts) part.start?.();

try {
  const who = await ask('/v1/whoami');
  setText(document.getElementById('about'), `tophub ${who.version}${who.tenant ? ` · you are ${who.tenant}` : ''}`);
} catch {
}
