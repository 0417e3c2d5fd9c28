// A table that is sorted by its headings, and whose rows unfold.
'use strict';

/**
 * `columns`: {key, label, hint, cell(row), value(row), wide}; by `value` it sorts, `wide` columns hold text. `detail`:
 * what a row unfolds to, or nothing. `label`: what the table is, for those who hear it. Returns {node, show(filter),
 * sorting}: a select that sorts, too, for narrow windows.
 */
function makeTable({label, columns, rows, detail, sortBy}) {
  let by = sortBy ?? columns[0].key;
  let isDown = by !== columns[0].key;
  let filter = () => true;
  const body = h('tbody');
  const headings = new Map();
  const views = rows.map((row) => ({row, main: makeRow(row)}));

  function makeRow(row) {
    const cells = columns.map((c, i) => {
      const cell = h(i === 0 ? 'th' : 'td', {class: c.wide ? 'wide' : null, 'data-label': c.label}, c.cell(row));
      if (i === 0) cell.setAttribute('scope', 'row');
      return cell;
    });
    const tr = h('tr', {}, cells);
    if (!detail) return [tr];
    const below = h('tr', {class: 'detail', hidden: true});
    const button =
        h('button', {
          type: 'button',
          class: 'fold',
          'aria-expanded': 'false',
          onclick: () => {
            if (!below.firstChild) below.append(h('td', {colspan: columns.length}, detail(row)));
            below.hidden = !below.hidden;
            button.setAttribute('aria-expanded', String(!below.hidden));
          }
        },
          ...cells[0].childNodes);
    cells[0].append(button);
    return [tr, below];
  }

  function show() {
    const column = columns.find((c) => c.key === by);
    // A row without a value stands at the end, whichever way the table is sorted.
    const order = (a, b) => {
      const x = column.value(a.row), y = column.value(b.row);
      const isMissing = [x, y].map((v) => v === undefined || v === null);
      if (isMissing[0] || isMissing[1]) return isMissing[0] - isMissing[1];
      return (x < y ? -1 : x > y ? 1 : 0) * (isDown ? -1 : 1);
    };
    const shown = views.filter((v) => filter(v.row)).sort(order);
    body.replaceChildren(...shown.flatMap((v) => v.main));
    if (shown.length === 0)
      body.append(h('tr', {}, h('td', {class: 'wide none', colspan: columns.length}, 'nothing fits')));
    for (const [key, heading] of headings)
      heading.setAttribute('aria-sort', key !== by ? 'none' : isDown ? 'descending' : 'ascending');
    sorting.value = by;
    return shown.length;
  }

  function sort(key) {
    // Figures begin with the largest, texts and numbers of layers with the first.
    isDown = key === by ? !isDown : !columns.find((c) => c.key === key).ascending;
    by = key;
    show();
  }

  const head = columns.map((c) => {
    const heading =
        h('th', {scope: 'col', class: c.wide ? 'wide' : null},
          h('button', {type: 'button', title: c.hint, onclick: () => sort(c.key)}, c.label));
    headings.set(c.key, heading);
    return heading;
  });
  const sorting =
      h('select', {'aria-label': `Sort ${label} by`, onchange: (e) => sort(e.target.value)},
        columns.map((c) => h('option', {value: c.key}, c.label)));
  const node =
      h('div', {class: 'table-box', tabindex: 0, role: 'region', 'aria-label': label},
        h('table', {}, h('thead', {}, h('tr', {}, head)), body));
  show();
  return {
    node,
    sorting: h('label', {class: 'order'}, 'sort by ', sorting),
    show(next) {
      filter = next;
      return show();
    }
  };
}
