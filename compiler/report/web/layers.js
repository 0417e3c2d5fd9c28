// The layers as a table: what each computes, how long it takes, and by which config.
'use strict';

const gflops = (layer) => layer.seconds && layer.operations ? layer.operations / layer.seconds * 1e-9 : undefined;
/** The share of its time that the machine needs for it at least. */
const ofRoof = (layer) => layer.seconds && layer.roof_seconds ? layer.roof_seconds / layer.seconds : undefined;

const dash = (value, text) => value === undefined || value === null ? '–' : text(value);

const shareBar = (fraction) =>
    h('span', {class: 'bar', 'aria-hidden': 'true'},
      h('span', {class: 'bar-filling', style: `width: ${(100 * Math.min(1, fraction)).toFixed(2)}%`}));

const layerName = (nodes, workload) =>
    h('span', {class: 'layer'}, h('span', {class: 'name'}, nodes || '(without a name)'),
      h('span', {class: 'workload'}, breakable(workload)));

function layerDetail(layer) {
  return h(
      'div', {class: 'unfolded'}, facts([
        ['nodes', h('ul', {}, nodesOf(layer).map((node) => h('li', {}, node)))],
        ['workload', h('code', {}, breakable(layer.workload))],
        ['config', h('code', {}, breakable(layer.config))],
        ['from', layer.source],
        ['threads', layer.threads],
        ['operations', layer.operations ? amountText(layer.operations) : undefined],
        ['tensors', bytesText(layer.bytes)],
        ['bound', layer.roof_seconds && `${timeText(layer.roof_seconds)} of arithmetic or memory`],
        ['in place', layer.in_place && `its output takes the memory of ${layer.in_place}`],
        ['by itself', layer.alone],
        ['layout', layer.layout],
        ['kernel', h('code', {}, layer.kernel)],
      ]),
      h('div', {class: 'columns'}, h('div', {}, h('h3', {}, 'Workload'), knobs(argsOf(layer.workload))),
        h('div', {}, h('h3', {}, 'Config'), knobs(layer.config))));
}

function layerColumns(variant) {
  const all = variant.layer_seconds;
  const most = Math.max(...variant.layers.map((l) => l.seconds ?? 0));
  const unit = columnUnit(all ?? 0);
  const columns = [
    {key: 'layer', label: '#', hint: 'In the order of their steps', cell: (r) => String(r.i), value: (r) => r.i},
    {
      key: 'name',
      label: 'layer',
      hint: 'The nodes of the model, and the workload that they became',
      cell: (r) => layerName(r.nodes, r.workload),
      value: (r) => r.nodes,
      wide: true
    },
  ];
  if (all !== undefined) {
    columns.push(
        {
          key: 'time',
          label: unit.name,
          hint: 'Run by itself, with its operands in caches',
          cell: (r) => figures(r.seconds * unit.of),
          value: (r) => r.seconds
        },
        {
          key: 'share',
          label: 'share',
          hint: 'Of the sum of all layers',
          cell: (r) => [percent(r.seconds / all), shareBar(r.seconds / most)],
          value: (r) => r.seconds
        },
        {
          key: 'gflops',
          label: 'GFLOPS',
          hint: 'Operations of the direct algorithm',
          cell: (r) => dash(gflops(r), figures),
          value: gflops
        });
  }
  if (variant.layers.some((l) => ofRoof(l) !== undefined)) {
    columns.push({
      key: 'roof',
      label: 'of roof',
      hint: 'The time that arithmetic (fp32) or memory of this machine needs at least, over its time; fewer ' +
          'operations (Winograd) or shorter numbers may give more than 100%',
      cell: (r) => dash(ofRoof(r), percent),
      value: ofRoof
    });
  }
  columns.push({
    key: 'source',
    label: 'config',
    hint: 'Where it is from',
    cell: (r) => h('span', {class: 'source', 'data-source': sourceWord(r.source)}, sourceWord(r.source)),
    value: (r) => r.source
  });
  if (variant.layers.some((l) => l.error !== undefined)) {
    columns.push({
      key: 'error',
      label: 'error',
      hint: 'Relative, against the reference',
      cell: (r) => dash(r.error, (e) => e === 0 ? '0' : e.toExponential(1)),
      value: (r) => r.error
    });
  }
  for (const c of columns) c.ascending = ['layer', 'name', 'source'].includes(c.key);
  return columns;
}

function layersPanel(variant) {
  const rows = variant.layers.map((layer, i) => ({i, ...layer}));
  const columns = layerColumns(variant);
  // The slowest first; without times as a call runs them.
  const sortBy = columns.some((c) => c.key === 'time') ? 'time' : undefined;
  const table = makeTable({label: 'layers', columns, rows, detail: layerDetail, sortBy});
  const found = h('span', {class: 'dim', role: 'status'}, counted(rows.length, 'layer', 'layers'));
  const tasks = [...new Set(rows.map((r) => taskOf(r.workload)))].sort();
  const task =
      h('select', {'aria-label': 'Task', onchange: update}, h('option', {value: ''}, 'all tasks'),
        tasks.map((t) => h('option', {value: t}, t)));
  const search = h(
      'input', {type: 'search', placeholder: 'name, workload, config', 'aria-label': 'Search layers', oninput: update});

  function update() {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = table.show((r) => {
      const text = [r.nodes, r.workload, r.config, r.source, r.alone, r.layout].join(' ').toLowerCase();
      return (!task.value || taskOf(r.workload) === task.value) && wanted.every((word) => text.includes(word));
    });
    found.textContent = shown === rows.length ? counted(rows.length, 'layer', 'layers') : `${shown} of ${rows.length}`;
  }
  return panel('Layers', [h('div', {class: 'tools'}, found, search, task, table.sorting)], table.node);
}
