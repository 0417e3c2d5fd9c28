// The head of a report: the model or operator, its target, how large and how fast it is.
'use strict';

function reading(name, value, ...notes) {
  return h(
      'div', {class: 'reading'}, h('h2', {}, name), h('p', {class: 'value'}, value),
      notes.filter(Boolean).map((note) => h('p', {class: 'note'}, note)));
}

function timeReading(variant) {
  const whole = variant.median_seconds, layers = variant.layer_seconds;
  const parts = layers !== undefined && `its layers, each run by itself: ${timeText(layers)}`;
  if (whole !== undefined) {
    return reading('Time', timeText(whole), `the whole, median; fastest ${timeText(variant.fastest_seconds)}`, parts);
  }
  if (layers !== undefined) return reading('Time', timeText(layers), 'the sum of its layers, each run by itself');
  return reading('Time', '–', 'not measured: built for another machine');
}

function layersReading(variant) {
  const kernels = new Set(variant.layers.map((l) => l.kernel)).size;
  const sources = new Map();
  for (const l of variant.layers) sources.set(sourceWord(l.source), (sources.get(sourceWord(l.source)) ?? 0) + 1);
  return reading(
      'Layers', String(variant.layers.length), counted(kernels, 'kernel', 'kernels'),
      `configs: ${[...sources].map(([word, count]) => `${count} ${word}`).join(', ')}`);
}

function arenaReading(variant) {
  const {arena_bytes: bytes, arena_bound: bound} = variant;
  const over =
      bytes === bound ? 'as little as can be' : `at least ${bytesText(bound)}; ${percent(bytes / bound - 1)} more`;
  return reading('Arena', bytesText(bytes), bytes ? over : 'nothing is kept between layers');
}

/** How the time divides among tasks: a stripe, and the same in words. */
function timeByTask(variant) {
  if (!variant.layer_seconds) return null;
  const sums = new Map();
  for (const l of variant.layers) {
    const task = taskOf(l.workload);
    sums.set(task, (sums.get(task) ?? 0) + l.seconds);
  }
  const parts = [...sums].sort((a, b) => b[1] - a[1]);
  const shown = parts.slice(0, 5);
  const rest = parts.slice(5).reduce((sum, [, seconds]) => sum + seconds, 0);
  if (rest > 0) shown.push([counted(parts.length - 5, 'other', 'others'), rest]);
  const tone = (i) => i < 5 ? i + 1 : 'rest';
  return h(
      'section', {class: 'panel'}, h('h2', {}, 'Where the time goes'),
      h('div', {class: 'stripe', 'aria-hidden': 'true'},
        shown.map(
            ([, seconds], i) =>
                h('span',
                  {'data-tone': tone(i), style: `flex-grow: ${(1000 * seconds / variant.layer_seconds).toFixed(3)}`}))),
      h('ul', {class: 'legend'},
        shown.map(
            ([task, seconds], i) =>
                h('li', {'data-tone': tone(i)}, `${task} ${percent(seconds / variant.layer_seconds)}`))),
      h('p', {class: 'note'}, layoutsText(variant)));
}

/** The cost of changes of layout: transposes, the model's own and those between layers in blocks and in planes. */
function layoutsText(variant) {
  const changes = variant.layers.filter((l) => taskOf(l.workload) === 'transpose');
  if (changes.length === 0) return 'No layer changes a layout.';
  const seconds = changes.reduce((sum, l) => sum + l.seconds, 0);
  return `Changes of layout (transposes): ${counted(changes.length, 'layer', 'layers')}, ${timeText(seconds)}, ${
      percent(seconds / variant.layer_seconds)} of the layers' time.`;
}

const portList = (ports) => h('span', {}, ports.map((p) => h('code', {class: 'port'}, `${p.name}: ${p.type}`)));

function variantHead(report, variant) {
  const weights = report.weight_bytes ? reading(
                                            'Weights', bytesText(report.weight_bytes),
                                            report.weights_file ? `in ${report.weights_file}` : 'in the artifact') :
                                                                  reading('Weights', '0 B', 'the model has none');
  return [
    h('div', {class: 'readings'}, timeReading(variant), layersReading(variant), arenaReading(variant), weights,
      reading('Artifact', bytesText(report.artifact_bytes), report.variants.length > 1 && 'with all variants')),
    timeByTask(variant), panel('Built', [], facts([
                                 ['target', h('code', {}, report.target)],
                                 ['threads', String(variant.threads)],
                                 ['denormals', report.denormals],
                                 ['NaNs', report.nans],
                                 ['measured on', report.machine],
                                 ['fp32 peak', report.peak_gflops && `${figures(report.peak_gflops)} GFLOPS`],
                                 ['check', variant.check],
                                 ['inputs', portList(variant.inputs)],
                                 ['outputs', portList(variant.outputs)],
                               ]))
  ];
}
