// Numbers with their units.
'use strict';

/** Three figures: 1234, 123, 12.3, 1.23, 0.123. */
function figures(value) {
  if (value === 0) return '0';
  const digits = Math.max(0, Math.min(5, 2 - Math.floor(Math.log10(Math.abs(value)))));
  return value.toFixed(digits);
}

function bytesText(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1e6) return `${figures(bytes / 1e3)} kB`;
  return bytes < 1e9 ? `${figures(bytes / 1e6)} MB` : `${figures(bytes / 1e9)} GB`;
}

const kMilliseconds = {
  name: 'ms',
  of: 1e3
},
      kMicroseconds = {
        name: 'µs',
        of: 1e6
      };

/** A count of operations. */
function amountText(count) {
  if (count < 1e3) return String(Math.round(count));
  const [unit, of] = [['billion', 1e9], ['million', 1e6], ['thousand', 1e3]].find(([, least]) => count >= least);
  return `${figures(count / of)} ${unit}`;
}

/** The unit of a column whose sum is `seconds`: most of its times are much shorter. */
const columnUnit = (seconds) => seconds >= 0.02 ? kMilliseconds : kMicroseconds;

const timeText = (seconds) => {
  const unit = seconds >= 1e-3 ? kMilliseconds : kMicroseconds;
  return `${figures(seconds * unit.of)} ${unit.name}`;
};

const percent = (fraction) => `${(100 * fraction).toFixed(fraction < 0.0995 ? 1 : 0)}%`;

const counted = (count, one, several) => `${count} ${count === 1 ? one : several}`;

const taskOf = (workload) => workload.split('(')[0];
const argsOf = (workload) => workload.slice(taskOf(workload).length + 1, -1);
/** `best (exact workload, …)` -> `best` */
const sourceWord = (source) => source.split(' ')[0];
/** The model's nodes that a layer stands for, each once. */
const nodesOf = (layer) => layer.nodes ? [...new Set(layer.nodes.split(' + '))] : [];
