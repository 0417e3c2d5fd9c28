// Pieces that several pages show.
import {h, setAttribute, setShown, setText, setWidth} from './dom.js';

/** Every state a device can be in, those that want attention first. */
export const kStates = ['quarantined', 'probation', 'draining', 'lost', 'busy', 'idle'];

export const deviceLink = (key) => `#/device/${encodeURIComponent(key)}`;
export const sessionLink = (id) => `#/session/${encodeURIComponent(id)}`;

/** A state as a lamp and a word. */
export function stateBadge() {
  const word = h('span', null);
  const node = h('span', {class: 'state'}, h('span', {class: 'lamp', 'aria-hidden': 'true'}), word);
  return {
    node,
    update(state) {
      setAttribute(node, 'data-state', state);
      setText(word, state);
    },
  };
}

/** A bar that is filled to a fraction. The number stands beside it, so it is hidden from those who listen. */
export function bar() {
  const filling = h('span', {class: 'bar-filling'});
  const node = h('span', {class: 'bar', 'aria-hidden': 'true'}, filling);
  return {node, update: (fraction) => setWidth(filling, fraction)};
}

/** A bar of parts and its legend: update([[name, value, tone, text]]). */
export function partsBar(label) {
  const stripe = h('div', {class: 'stripe', 'aria-hidden': 'true'});
  const legend = h('ul', {class: 'legend', 'aria-label': label});
  return {
    node: h('div', {class: 'parts'}, stripe, legend),
    update(parts) {
      const shown = parts.filter(([, value]) => value > 0);
      const total = shown.reduce((sum, [, value]) => sum + value, 0);
      while (stripe.childNodes.length > shown.length) stripe.lastChild.remove();
      while (legend.childNodes.length > shown.length) legend.lastChild.remove();
      while (stripe.childNodes.length < shown.length) stripe.append(h('span', null));
      while (legend.childNodes.length < shown.length) legend.append(h('li', null));
      shown.forEach(([name, value, tone, text], i) => {
        setAttribute(stripe.childNodes[i], 'data-tone', tone);
        setWidth(stripe.childNodes[i], value / total);
        setAttribute(legend.childNodes[i], 'data-tone', tone);
        setText(legend.childNodes[i], `${name} ${text}`);
      });
    },
  };
}

/** A list of facts: fact(term) gives a node whose text is set later. */
export function facts() {
  const node = h('dl', {class: 'facts'});
  return {
    node,
    add(term, content = h('span', null)) {
      const row = h('div', null, h('dt', null, term), h('dd', null, content));
      node.append(row);
      return {
        content,
        set(text) {
          setShown(row, text !== null && text !== undefined && text !== '');
          setText(content, text ?? '');
        },
      };
    },
  };
}

const kTones = {
  ok: 'good',
  wrong_result: 'bad',
  run_failed: 'bad',
  run_timeout: 'warn',
  build_failed: 'bad',
  build_timeout: 'warn',
  rejected: 'warn',
  invalid_config: 'dim',
  device_lost: 'lost',
  cancelled: 'dim'
};

/** Results by status for partsBar: the good ones first, then by number. */
export function statusParts(counts, text) {
  return Object.entries(counts ?? {})
      .filter(([, n]) => n > 0)
      .sort(([a, n], [b, m]) => (b === 'ok') - (a === 'ok') || m - n)
      .map(([name, n]) => [name.replaceAll('_', ' '), n, kTones[name] ?? 'warn', text(n)]);
}

/** A section with a heading. */
export function section(title, ...children) {
  const heading = h('h2', null, title);
  return h('section', {class: 'panel'}, heading, ...children);
}

/** The list of past events, the newest first: update(events, now). */
export function eventList(moment) {
  const list = h('ol', {class: 'events'});
  const nothing = h('p', {class: 'dim', hidden: true}, 'Nothing yet.');
  return {
    node: h('div', null, nothing, list),
    update(events, now) {
      const all = (events ?? []).toReversed();
      setShown(nothing, all.length === 0);
      while (list.childNodes.length > all.length) list.lastChild.remove();
      while (list.childNodes.length < all.length) list.append(h('li', null, h('time', null), h('span', null)));
      all.forEach((event, i) => {
        setText(list.childNodes[i].firstChild, moment(event.t, now));
        setText(list.childNodes[i].lastChild, event.what);
      });
    },
  };
}
