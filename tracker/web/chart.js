// Line charts as inline SVG. A chart redraws itself when its data or its width changes.
import {h, s, setText} from './dom.js';
import {age, count, short, timeOfDay} from './format.js';
import {axisEnd, niceTicks, timeTicks} from './ticks.js';

const known = (x) => typeof x === 'number' && Number.isFinite(x);

// An axis' ticks and how they read. Elapsed and clock are in seconds.
const kinds = {
  number: {ticks: niceTicks, text: short},
  count: {ticks: (low, high, wanted) => niceTicks(low, high, wanted).filter(Number.isInteger), text: short},
  elapsed: {ticks: timeTicks, text: (x) => age(x)},
  clock: {
    ticks: (low, high, wanted) => timeTicks(low, high, wanted, new Date(high * 1000).setHours(0, 0, 0, 0) / 1000),
    text: (x, spread) => timeOfDay(x, spread < 300),
  },
};

const observer = new ResizeObserver((entries) => {
  for (const entry of entries) entry.target.honeResize?.(entry.contentRect.width);
});

/**
 * options: label (what the chart shows, for those who cannot see it), height (px), x and y ({kind, unit}), series:
 * [{name, tone, step, fill}], ticks (about how many on y), readout (a value as text). update([points…]): for each
 * series [[x, y]…], x ascending; a y that is null breaks the line.
 */
export class Chart {
  constructor(options) {
    this.options = {height: 160, ticks: 4, readout: short, ...options};
    this.points = this.options.series.map(() => []);
    this.svg = s('svg', {class: 'chart', role: 'img', height: this.options.height, 'aria-label': this.options.label});
    this.readout = h('p', {class: 'chart-readout', 'aria-hidden': 'true'});
    const legend = this.options.series.length > 1 ?
        h('ul', {class: 'legend'}, this.options.series.map((one) => h('li', {'data-tone': one.tone}, one.name))) :
        null;
    this.node = h('div', {class: 'chart-box'}, legend, this.svg, this.readout);
    this.node.honeResize = (width) => this.resize(width);
    observer.observe(this.node);
    this.svg.addEventListener('pointermove', (event) => this.point(event));
    this.svg.addEventListener('pointerleave', () => this.point(null));
    this.width = 0;
  }

  resize(width) {
    const whole = Math.floor(width);
    if (whole === this.width || whole < 40) return;
    this.width = whole;
    this.draw();
  }

  update(points) {
    this.points = points;
    if (this.width) this.draw();
  }

  /** Another axis, before the next update. */
  setX(x) { this.options.x = x; }
  setY(y) { this.options.y = y; }

  draw() {
    const {height, x, y, series} = this.options;
    const all = this.points.flat().filter((p) => known(p[0]));
    const values = all.map((p) => p[1]).filter(known);
    const left = 44, right = 10, top = 24, bottom = 34;
    // Counted things begin at nothing; only the time of day begins where the data does.
    const low = x.kind === 'clock' && all.length ? Math.min(...all.map((p) => p[0])) : 0;
    const high = all.length ? Math.max(...all.map((p) => p[0])) : 1;
    const floor = y.from === 'data' && values.length ?
        Math.max(0, Math.min(...values) - (Math.max(...values) - Math.min(...values) || Math.max(...values) * 0.1)) :
        0;
    const end = y.end ?? (values.length ? Math.max(axisEnd(Math.max(...values)), floor * 1.0001) : 1);
    const spread = high - low || 1;
    const place = {
      x: (v) => left + ((v - low) / spread) * (this.width - left - right),
      y: (v) => height - bottom - ((v - floor) / (end - floor || 1)) * (height - top - bottom),
    };
    this.place = place;
    const grid =
        kinds[y.kind ?? 'number']
            .ticks(floor, end, this.options.ticks)
            .map(
                (v) =>
                    [s('line', {class: 'grid', x1: left, x2: this.width - right, y1: place.y(v), y2: place.y(v)}),
                     s('text', {class: 'tick', x: left - 6, y: place.y(v) + 4, 'text-anchor': 'end'},
                       kinds[y.kind ?? 'number'].text(v)),
    ]);
    const wanted = Math.max(2, Math.min(8, Math.floor((this.width - left) / 95)));
    const below = (all.length > 1 ? kinds[x.kind].ticks(low, high, wanted) : []).map((v) => {
      const at = place.x(v);
      const anchor = at < left + 16 ? 'start' : at > this.width - right - 24 ? 'end' : 'middle';
      return [
        s('line', {class: 'tick-mark', x1: at, x2: at, y1: height - bottom, y2: height - bottom + 4}),
        s('text', {class: 'tick', x: at, y: height - bottom + 15, 'text-anchor': anchor},
          kinds[x.kind].text(v, spread)),
      ];
    });
    const lines = series.map((one, i) => this.line(one, this.points[i] ?? [], place, floor));
    this.svg.setAttribute('width', this.width);
    this.svg.setAttribute('viewBox', `0 0 ${this.width} ${height}`);
    this.svg.replaceChildren(
        ...grid.flat(),
        ...below.flat(),
        s('line', {class: 'axis', x1: left, x2: this.width - right, y1: height - bottom, y2: height - bottom}),
        ...lines.flat(),
        s('text', {class: 'unit', x: 2, y: 11}, y.unit),
        s('text', {class: 'unit', x: this.width - right, y: height - 4, 'text-anchor': 'end'}, x.unit),
        ...(values.length ? [] :
                            [s('text', {class: 'nothing', x: this.width / 2, y: height / 2, 'text-anchor': 'middle'},
                               'no data yet')]),
    );
    this.cursor = null;
    this.svg.setAttribute('aria-label', this.describe(values));
  }

  line(one, points, place, floor) {
    const parts = [[]];
    for (const [x, y] of points) {
      if (known(y) && known(x))
        parts.at(-1).push([place.x(x), place.y(y)]);
      else if (parts.at(-1).length)
        parts.push([]);
    }
    const drawn = parts.filter((part) => part.length);
    const path = (part) => part.map(
                                   ([x, y], i) =>
                                       (i === 0 ? `M${x.toFixed(1)} ${y.toFixed(1)}` :
                                            one.step ? `H${x.toFixed(1)}V${y.toFixed(1)}` :
                                                       `L${x.toFixed(1)} ${y.toFixed(1)}`))
                               .join('');
    const base = place.y(floor).toFixed(1);
    const out = [];
    if (one.fill)
      for (const part of drawn)
        out.push(
            s('path', {class: 'area', 'data-tone': one.tone, d: `${path(part)}V${base}H${part[0][0].toFixed(1)}Z`}));
    out.push(s('path', {class: 'line', 'data-tone': one.tone, d: drawn.map(path).join('')}));
    const last = drawn.at(-1)?.at(-1);
    if (last)
      out.push(
          s('circle', {class: 'end', 'data-tone': one.tone, cx: last[0].toFixed(1), cy: last[1].toFixed(1), r: 2.5}));
    return out;
  }

  describe(values) {
    if (!values.length) return `${this.options.label}: no data yet`;
    const last = this.options.series.map((one, i) => [one.name, (this.points[i] ?? []).findLast((p) => known(p[1]))])
                     .filter(([, p]) => p);
    const unit = this.options.y.unit;
    return `${this.options.label}: ${
        last.map(([name, p]) => `${name ? `${name} ` : ''}${this.options.readout(p[1])} ${unit}`)
            .join(', ')}; at most ${this.options.readout(Math.max(...values))} ${unit}`;
  }

  // Describes the point under the pointer in words.
  point(event) {
    if (!this.place || !event || !this.points.some((p) => p.length)) {
      this.cursor?.remove();
      this.cursor = null;
      setText(this.readout, '');
      return;
    }
    const at = event.clientX - this.svg.getBoundingClientRect().left;
    const {x, y, series, height} = this.options;
    const main = this.points.find((p) => p.length);
    const nearest =
        main.reduce((a, b) => (Math.abs(this.place.x(b[0]) - at) < Math.abs(this.place.x(a[0]) - at) ? b : a));
    const cx = this.place.x(nearest[0]);
    if (!this.cursor) this.svg.append((this.cursor = s('line', {class: 'cursor', y1: 24, y2: height - 34})));
    this.cursor.setAttribute('x1', cx);
    this.cursor.setAttribute('x2', cx);
    const here = x.kind === 'count' ? `${count(nearest[0])} ${x.unit}` :
        x.kind === 'clock' ? timeOfDay(nearest[0]) :
                             age(nearest[0]);
    const read = series.map((one, i) => {
      const found = (this.points[i] ?? []).find((p) => p[0] === nearest[0]);
      return found && known(found[1]) ?
          `${series.length > 1 ? `${one.name} ` : ''}${this.options.readout(found[1])} ${y.unit}` :
          null;
    });
    setText(this.readout, [here, ...read.filter(Boolean)].join(' · '));
  }
}

/** A line without axes, of the last values; for a trend beside its number. */
export class Trend {
  constructor(label, points = 90) {
    this.values = [];
    this.most = points;
    this.path = s('path', {class: 'line', 'data-tone': 'main', d: ''});
    this.node =
        s('svg', {class: 'trend', viewBox: '0 0 100 24', preserveAspectRatio: 'none', role: 'img', 'aria-label': label},
          this.path);
  }

  add(value) {
    this.values.push(known(value) ? value : 0);
    if (this.values.length > this.most) this.values.shift();
    const top = Math.max(...this.values, 1e-9);
    const step = 100 / (this.most - 1), first = 100 - (this.values.length - 1) * step;
    this.path.setAttribute(
        'd',
        this.values
            .map((v, i) => `${i ? 'L' : 'M'}${(first + i * step).toFixed(1)} ${(23 - (v / top) * 21).toFixed(1)}`)
            .join(''));
  }
}
