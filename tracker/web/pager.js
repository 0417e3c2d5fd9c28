// Turning the pages of a list that is too long to be drawn at once.
import {h, setShown, setText} from './dom.js';
import {count} from './format.js';

/** update(page, items, size) shows where we are and returns the page that is possible; onPage(page) hears of a turn. */
export function pager(label, onPage) {
  let page = 0;
  const before = h('button', {type: 'button', 'aria-label': 'Previous page', onclick: () => onPage(page - 1)}, '‹');
  const after = h('button', {type: 'button', 'aria-label': 'Next page', onclick: () => onPage(page + 1)}, '›');
  const where = h('span', {class: 'dim'});
  const node = h('nav', {class: 'pager', 'aria-label': label}, before, where, after);
  return {
    node,
    update(wanted, items, size) {
      const last = Math.max(0, Math.ceil(items / size) - 1);
      page = Math.max(0, Math.min(last, wanted));
      setText(
          where,
          items ? `${count(page * size + 1)}–${count(Math.min(items, (page + 1) * size))} of ${count(items)}` :
                  '0 of 0');
      before.disabled = page === 0;
      after.disabled = page === last;
      setShown(node, last > 0);
      return page;
    },
  };
}
