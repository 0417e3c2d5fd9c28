// The page: its data, and which variant is shown.
'use strict';

const report = JSON.parse(document.getElementById('report').textContent);

function show(index) {
  const variant = report.variants[index];
  const memory = memoryPanel(variant);
  document.getElementById('variant').replaceChildren(
      ...[...variantHead(report, variant), comparisonPanel(report, variant), layersPanel(variant), memory.node,
          fusionPanel(variant)]
          .filter(Boolean));
  memory.draw();
}

function variantSwitch() {
  if (report.variants.length < 2) return null;
  return h(
      'label', {class: 'switch'}, 'variant ',
      h('select', {id: 'which', onchange: (e) => show(Number(e.target.value))},
        report.variants.map((v, i) => h('option', {value: i}, v.name))));
}

document.title = `${report.model}: report of Hone`;
document.getElementById('main').append(
    h('header', {class: 'page-head'},
      h('div', {}, h('p', {class: 'brand'}, 'Hone ', h('span', {class: 'dim'}, `${report.hone}, ${report.when} UTC`)),
        h('h1', {}, report.model)),
      variantSwitch()),
    h('div', {id: 'variant'}));
show(0);
