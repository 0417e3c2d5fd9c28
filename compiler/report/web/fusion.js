// Which nodes became one layer, which did not and why, and what the passes did.
'use strict';

const folded = (title, ...children) => h('details', {}, h('summary', {}, title), ...children);

const nodeList = (nodes) => nodes.map((node, i) => [i > 0 && ' + ', h('code', {}, node)]);

function fusionPanel(variant) {
  const layers = variant.layers.map((layer, i) => ({i, ...layer}));
  const joined = layers.filter((l) => nodesOf(l).length > 1);
  const alone = layers.filter((l) => l.alone);
  const laid = layers.filter((l) => l.layout);
  const item = (l, ...what) => h('li', {}, h('span', {class: 'number'}, String(l.i)), h('div', {}, ...what));
  const count = new Set(joined.flatMap(nodesOf)).size;
  return panel(
      'What was fused', [],
      joined.length > 0 &&
          folded(
              `${counted(joined.length, 'layer stands', 'layers stand')} for ${count} of the model's nodes`,
              h('ol', {class: 'entries'},
                joined.map((l) => item(l, nodeList(nodesOf(l)), h('p', {class: 'dim'}, taskOf(l.workload)))))),
      alone.length > 0 &&
          folded(
              `${counted(alone.length, 'layer is', 'layers are')} by ${
                  alone.length === 1 ? 'itself' : 'themselves'}, and why`,
              h('ol', {class: 'entries'},
                alone.map((l) => item(l, nodeList(nodesOf(l)), h('p', {}, `${taskOf(l.workload)}: ${l.alone}`))))),
      laid.length > 0 &&
          folded(
              `${counted(laid.length, 'layout was', 'layouts were')} chosen by measurements`,
              h('ol', {class: 'entries'}, laid.map((l) => item(l, nodeList(nodesOf(l)), h('p', {}, l.layout))))),
      variant.free.length > 0 &&
          folded(
              `${counted(variant.free.length, 'node needs', 'nodes need')} no code: views and parts of others' memory`,
              h('ul', {class: 'entries'},
                variant.free.map(
                    (f) =>
                        h('li', {},
                          h('div', {}, f.nodes || '(without a name)',
                            h('p', {class: 'dim'}, h('code', {}, f.workload))))))),
      folded(`${counted(variant.passes.length - 1, 'pass', 'passes')} over the graph`, passTable(variant.passes)));
}

function passTable(passes) {
  const rows = passes.map((p, i) => ({i, change: i > 0 ? p.nodes - passes[i - 1].nodes : undefined, ...p}));
  return makeTable({
           label: 'passes',
           columns: [
             {key: 'i', label: '#', cell: (r) => String(r.i), value: (r) => r.i, ascending: true},
             {key: 'name', label: 'pass', cell: (r) => r.name, value: (r) => r.name, wide: true, ascending: true},
             {
               key: 'nodes',
               label: 'nodes',
               hint: 'Of the graph behind it',
               cell: (r) => String(r.nodes),
               value: (r) => r.nodes
             },
             {
               key: 'change',
               label: 'change',
               cell: (r) => dash(
                   r.change,
                   (c) => c > 0 ? `+${c}` :
                       c < 0 ? `−${- c}` :
                               '0'),
               value: (r) => r.change
             },
             {key: 'time', label: 'ms', cell: (r) => figures(r.seconds * 1e3), value: (r) => r.seconds},
           ],
           rows
         })
      .node;
}
