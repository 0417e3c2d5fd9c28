// This build beside an earlier one.
'use strict';

const kStates = {
  same: 'same',
  config: 'another config',
  workload: 'another workload',
  new: 'new',
  gone: 'gone'
};

/** `0.85 of before`, in words for those who read no colours. */
function ratio(before, now) {
  if (before === undefined || now === undefined || !before) return h('span', {class: 'dim'}, '–');
  const r = now / before;
  return h('span', {'data-better': r < 0.97 ? 'yes' : r > 1.03 ? 'no' : null}, `${r.toFixed(2)}×`);
}

function totals(report, variant, older) {
  const {compared} = report;
  const line = (name, before, now, text) =>
      h('tr', {}, h('th', {scope: 'row', class: 'wide'}, name), h('td', {'data-label': 'before'}, dash(before, text)),
        h('td', {'data-label': 'now'}, dash(now, text)), h('td', {'data-label': 'now / before'}, ratio(before, now)));
  return h(
      'div', {class: 'table-box'},
      h('table', {class: 'totals'},
        h('thead', {}, h('tr', {}, ['', 'before', 'now', 'now / before'].map((t) => h('th', {scope: 'col'}, t)))),
        h('tbody', {}, line('the whole', older.median_seconds, variant.median_seconds, timeText),
          line('sum of layers', older.layer_seconds, variant.layer_seconds, timeText),
          line('arena', older.arena_bytes, variant.arena_bytes, bytesText),
          line('weights', compared.weight_bytes, report.weight_bytes, bytesText),
          line('artifact', compared.artifact_bytes, report.artifact_bytes, bytesText))));
}

function pairDetail(pair) {
  const side =
      (name, layer) =>
          h('div', {}, h('h3', {}, name),
            layer ?
                facts([
                  ['nodes', layer.nodes], ['workload', h('code', {}, breakable(layer.workload))],
                  ['config', h('code', {}, breakable(layer.config))], ['from', layer.source]
                ]) :
                h('p', {class: 'dim'}, 'no such layer'));
  return h('div', {class: 'unfolded columns'}, side('Before', pair.before), side('Now', pair.layer));
}

function comparisonPanel(report, variant) {
  const {compared} = report;
  if (!compared) return null;
  const older = compared.variants.find((v) => v.name === variant.name);
  const notes = h('ul', {class: 'notes'}, compared.notes.map((note) => h('li', {}, note)));
  const title = `Compared with the build of ${compared.when} UTC`;
  if (!older) return panel(title, [], notes);
  const rows = older.layers.map((p, i) => {
    const layer = p.now === undefined ? undefined : variant.layers[p.now];
    const was = p.before?.seconds, is = layer?.seconds;
    const isTimed = variant.layer_seconds !== undefined && older.layer_seconds !== undefined;
    return {i, layer, was, is, delta: isTimed ? (is ?? 0) - (was ?? 0) : undefined, ...p};
  });
  const unit = columnUnit(Math.max(older.layer_seconds ?? 0, variant.layer_seconds ?? 0));
  const time = (seconds) => dash(seconds, (v) => figures(v * unit.of));
  const signed = (v) => v === 0 ? '0' : (v > 0 ? '+' : '−') + figures(Math.abs(v) * unit.of);
  const table = makeTable({
    label: 'compared layers',
    detail: pairDetail,
    sortBy: 'delta',
    rows,
    columns: [
      {
        key: 'layer',
        label: '#',
        cell: (r) => r.now === undefined ? '–' : String(r.now),
        value: (r) => r.now,
        ascending: true
      },
      {
        key: 'name',
        label: 'layer',
        cell: (r) => layerName((r.layer ?? r.before).nodes, (r.layer ?? r.before).workload),
        value: (r) => (r.layer ?? r.before).nodes,
        wide: true,
        ascending: true
      },
      {key: 'was', label: `${unit.name} before`, cell: (r) => time(r.was), value: (r) => r.was},
      {key: 'is', label: `${unit.name} now`, cell: (r) => time(r.is), value: (r) => r.is},
      {
        key: 'delta',
        label: 'difference',
        hint: 'By size, either way',
        cell: (r) => dash(r.delta, signed),
        value: (r) => r.delta === undefined ? undefined : Math.abs(r.delta)
      },
      {key: 'ratio', label: 'now / before', cell: (r) => ratio(r.was, r.is), value: (r) => r.was && r.is / r.was},
      {
        key: 'state',
        label: 'what changed',
        cell: (r) => h('span', {'data-state': r.state}, kStates[r.state]),
        value: (r) => r.state,
        ascending: true
      },
    ],
  });
  const counts = new Map();
  for (const r of rows) counts.set(r.state, (counts.get(r.state) ?? 0) + 1);
  const state =
      h('select', {
        'aria-label': 'What changed',
        onchange: (e) => table.show(
            (r) => !e.target.value || r.state === e.target.value || (e.target.value === 'any' && r.state !== 'same'))
      },
        h('option', {value: ''}, 'all layers'), h('option', {value: 'any'}, 'whatever changed'),
        [...counts].map(([name, count]) => h('option', {value: name}, `${kStates[name]} (${count})`)));
  return panel(
      title, [h('div', {class: 'tools'}, state, table.sorting)], compared.notes.length > 0 && notes,
      totals(report, variant, older), table.node);
}
