// The arena over time: each buffer a rectangle from its first to its last step, at its offset.
'use strict';

const kMemoryHeight = 320, kLeft = 58, kBottom = 34, kTop = 18, kRight = 10;

/** Round values from 0 to `most`, about `count` of them. */
function ticksTo(most, count) {
  const rough = most / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((f) => f * power >= rough) ?? 10);
  const ticks = [];
  for (let t = 0; t <= most; t += step) ticks.push(t);
  return ticks;
}

/** Bytes that are needed in each step. */
function liveBytes(buffers, steps) {
  const change = new Array(steps + 1).fill(0);
  for (const b of buffers) {
    const bytes = Math.ceil(b.bytes / 64) * 64;
    change[b.first] += bytes;
    change[b.last + 1] -= bytes;
  }
  let sum = 0;
  return change.slice(0, steps).map((c) => (sum += c));
}

function bufferText(b, variant) {
  const steps = b.first === b.last ? `step ${b.first}` : `steps ${b.first} to ${b.last}`;
  const layer = variant.layers[b.first];
  return `${b.name}: ${bytesText(b.bytes)} at ${bytesText(b.offset)}, ${steps}` +
      (layer ? ` (from ${layer.nodes || layer.workload})` : '');
}

/** As much of a name as fits into `width` pixels, or nothing: names differ at their ends. */
function shortName(name, width) {
  const characters = Math.floor((width - 6) / 6);
  if (name.length <= characters) return name;
  return characters < 4 ? '' : `…${name.slice(1 - characters)}`;
}

class MemoryChart {
  constructor(variant, readout) {
    this.variant = variant;
    this.readout = readout;
    // In the order in which arrow keys walk.
    this.buffers = [...variant.buffers].sort((a, b) => a.first - b.first || a.offset - b.offset);
    this.steps = Math.max(variant.layers.length, ...this.buffers.map((b) => b.last + 1));
    this.chosen = -1;
    this.box = h('div', {class: 'memory'});
    new ResizeObserver(() => this.draw()).observe(this.box);
  }

  draw() {
    const width = this.box.clientWidth;
    if (!width || width === this.width) return;
    this.width = width;
    const {arena_bytes: arena, arena_bound: bound} = this.variant;
    const x = (step) => kLeft + (width - kLeft - kRight) * step / this.steps;
    const y = (bytes) => kMemoryHeight - kBottom - (kMemoryHeight - kBottom - kTop) * bytes / arena;
    this.rects = this.buffers.map((b, i) => this.rect(b, i, x, y));
    const live = liveBytes(this.buffers, this.steps);
    const line =
        live.map(
                (bytes, step) =>
                    `${step ? 'L' : 'M'}${x(step).toFixed(1)} ${y(bytes).toFixed(1)}H${x(step + 1).toFixed(1)}`)
            .join('');
    const svg =
        s('svg', {
          width,
          height: kMemoryHeight,
          viewBox: `0 0 ${width} ${kMemoryHeight}`,
          role: 'group',
          tabindex: 0,
          'aria-label':
              `Memory plan: ${this.buffers.length} buffers in ${bytesText(arena)} over ${this.steps} steps. ` +
              'Arrow keys walk through the buffers.',
          onkeydown: (e) => this.key(e),
          onpointermove: (e) => this.point(e),
          onpointerleave: () => this.choose(-1)
        },
          ticksTo(arena, 4)
              .map(
                  (t) =>
                      [s('line', {class: 'grid', x1: kLeft, x2: width - kRight, y1: y(t), y2: y(t)}),
                       s('text', {x: kLeft - 6, y: y(t) + 4, 'text-anchor': 'end'}, t ? bytesText(t) : '0')])
              .flat(),
          ticksTo(this.steps, Math.max(2, width / 110))
              .filter(Number.isInteger)
              .map((t) => s('text', {x: x(t), y: kMemoryHeight - kBottom + 15, 'text-anchor': 'middle'}, String(t))),
          s('text', {x: (kLeft + width - kRight) / 2, y: kMemoryHeight - 4, 'text-anchor': 'middle'}, 'step'),
          this.rects.map((r) => r.node), s('path', {class: 'live', d: line}),
          this.rects.map((r) => r.name).filter(Boolean),
          s('line', {class: 'bound', x1: kLeft, x2: width - kRight, y1: y(bound), y2: y(bound)}),
          s('text', {class: 'bound-label', x: width - kRight, y: y(bound) - 5, 'text-anchor': 'end'},
            `most live bytes: ${bytesText(bound)}`),
          (this.frame = s('rect', {class: 'chosen', visibility: 'hidden'})));
    this.box.replaceChildren(svg);
    if (this.chosen >= 0) this.choose(this.chosen);
  }

  rect(b, i, x, y) {
    const left = x(b.first), right = x(b.last + 1), top = y(b.offset + b.bytes), bottom = y(b.offset);
    const place = {x: left, y: top, width: Math.max(0.75, right - left), height: Math.max(0.75, bottom - top)};
    const tone = b.is_workspace ? 'rest' : i % 5 + 1;
    const text = bottom - top >= 13 ? shortName(b.is_workspace ? 'workspace' : b.name, right - left) : '';
    return {
      place,
      node: s('rect', {class: 'buffer', 'data-tone': tone, 'data-buffer': i, ...place}),
      name: text && s('text', {class: 'buffer-name', x: left + 4, y: (top + bottom) / 2 + 4}, text)
    };
  }

  choose(i) {
    this.chosen = i;
    this.readout.textContent = i < 0 ? this.hint : bufferText(this.buffers[i], this.variant);
    this.frame.setAttribute('visibility', i < 0 ? 'hidden' : 'visible');
    if (i >= 0)
      for (const [name, value] of Object.entries(this.rects[i].place)) this.frame.setAttribute(name, value);
  }

  point(e) {
    const i = e.target.getAttribute('data-buffer');
    if (i !== null) this.choose(Number(i));
  }

  key(e) {
    const last = this.buffers.length - 1;
    const to = {
      ArrowRight: Math.min(last, this.chosen + 1),
      ArrowLeft: Math.max(0, this.chosen - 1),
      ArrowDown: Math.min(last, this.chosen + 1),
      ArrowUp: Math.max(0, this.chosen - 1),
      Home: 0,
      End: last,
      Escape: -1
    }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    this.choose(to);
  }
}

const bufferTable = (variant) =>
    makeTable({
      label: 'buffers',
      rows: variant.buffers.map((b, i) => ({i, ...b})),
      columns: [
        {
          key: 'first',
          label: 'first',
          hint: 'Step that writes it',
          cell: (r) => String(r.first),
          value: (r) => r.first,
          ascending: true
        },
        {
          key: 'last',
          label: 'last',
          hint: 'Step that needs it last',
          cell: (r) => String(r.last),
          value: (r) => r.last,
          ascending: true
        },
        {key: 'name', label: 'buffer', cell: (r) => r.name, value: (r) => r.name, wide: true, ascending: true},
        {key: 'offset', label: 'offset', cell: (r) => bytesText(r.offset), value: (r) => r.offset, ascending: true},
        {key: 'bytes', label: 'size', cell: (r) => bytesText(r.bytes), value: (r) => r.bytes},
      ]
    }).node;

/** Returns {node, draw()}: it is drawn once it has a width. */
function memoryPanel(variant) {
  if (variant.buffers.length === 0) {
    return {
      node: panel('Memory', [], h('p', {class: 'dim'}, 'The arena is empty: all is in the caller’s tensors.')),
      draw() {}
    };
  }
  const hint = 'Point at a buffer, or walk through them with the arrow keys. The line is what is live in each step.';
  const readout = h('p', {class: 'readout', 'aria-live': 'polite'}, hint);
  const chart = new MemoryChart(variant, readout);
  chart.hint = hint;
  return {
    node: panel(
        'Memory', [h('span', {class: 'dim'},
                     `${counted(variant.buffers.length, 'buffer', 'buffers')} in ${bytesText(variant.arena_bytes)}`)],
        chart.box, readout, folded('The same as a table', bufferTable(variant))),
    draw: () => chart.draw()
  };
}
