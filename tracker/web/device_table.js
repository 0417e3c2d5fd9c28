// All devices, found by words and states, in the order asked for, a page of them at a time: only that page is drawn, so
// ten thousand are no slower than fifty.
import {h, KeyedList, setAttribute, setShown, setText} from './dom.js';
import {age, clock, count, number, percent, span, temperature} from './format.js';
import {pager} from './pager.js';
import {bar, deviceLink, kStates, stateBadge} from './parts.js';

const kPage = 50;

// busy and idle are one rank: a fleet at work does not shuffle its rows with every answer.
const rank = (state) => (state === 'busy' || state === 'idle' ? kStates.length : kStates.indexOf(state));

const byText = (of) => (a, b) => (of(a) < of(b) ? -1 : of(a) > of(b) ? 1 : 0);
const byNumber = (of) => (a, b) => (of(a) ?? -Infinity) - (of(b) ?? -Infinity);
const rateOf = (d) => (d.done ? d.failed / d.done : 0);

// compare: ascending. `down`: the first press sorts from the largest.
const kColumns = [
  {id: 'state', name: 'State', compare: byNumber((d) => rank(d.state))},
  {id: 'device', name: 'Device', compare: byText((d) => d.key)},
  {
    id: 'load',
    name: 'Load',
    hint: 'share of the last minute spent measuring',
    down: true,
    compare: byNumber((d) => d.utilization)
  },
  {id: 'rate', name: 'Jobs/min', down: true, compare: byNumber((d) => d.jobs_per_minute)},
  {id: 'leased', name: 'Leased', down: true, compare: byNumber((d) => d.leased)},
  {id: 'done', name: 'Done', down: true, compare: byNumber((d) => d.done)},
  {
    id: 'failed',
    name: 'Failed',
    hint: 'jobs whose candidate failed, and their share',
    down: true,
    compare: byNumber(rateOf)
  },
  {
    id: 'sentinel',
    name: 'Sentinel',
    hint: 'time of a fixed piece of work: longer means a slower device, or one that others use',
    down: true,
    compare: byNumber((d) => d.sentinel_seconds)
  },
  {id: 'temperature', name: 'Temp.', down: true, compare: byNumber((d) => d.temperature_c)},
  {id: 'clock', name: 'Clock', down: true, compare: byNumber((d) => d.clock_mhz)},
  {id: 'here', name: 'Connected', down: true, compare: byNumber((d) => d.connected_s)},
];

function row() {
  const state = stateBadge(), load = bar();
  const link = h('a', {class: 'key'}), about = h('span', {class: 'dim about'});
  const why = h('span', {class: 'why'});
  const cells = {};
  const cell = (id, ...content) =>
      (cells[id] =
           h('td', {role: 'cell', 'data-label': kColumns.find((c) => c.id === id).name, class: `c-${id}`}, ...content));
  const loadText = h('span', null);
  const node =
      h('tr', {role: 'row'}, cell('state', state.node), cell('device', link, about, why),
        cell('load', loadText, load.node), ...kColumns.slice(3).map((column) => cell(column.id)));
  return {
    node,
    update(d) {
      state.update(d.state);
      setText(link, d.key);
      setAttribute(link, 'href', deviceLink(d.key));
      const slow = d.governor && d.governor !== 'performance' ? `governor ${d.governor}` : '';
      const words = [d.model, slow, d.target].filter(Boolean).join(' · ');
      setText(about, words);
      setAttribute(about, 'title', words);
      setText(why, d.why ?? '');
      setShown(why, Boolean(d.why));
      load.update(d.utilization);
      setText(loadText, percent(d.utilization));
      setText(cells.rate, number(d.jobs_per_minute));
      setText(cells.leased, count(d.leased));
      setText(cells.done, count(d.done));
      setText(cells.failed, d.failed ? `${count(d.failed)} (${percent(rateOf(d))})` : '0');
      setText(cells.sentinel, d.sentinel_seconds > 0 ? span(d.sentinel_seconds) : '–');
      setText(cells.temperature, temperature(d.temperature_c));
      setText(cells.clock, clock(d.clock_mhz));
      setText(cells.here, d.state === 'lost' ? '–' : age(d.connected_s));
    },
  };
}

const haystack = (d) =>
    `${d.key} ${d.agent ?? ''} ${d.model ?? ''} ${d.target ?? ''} ${d.state} ${d.why ?? ''} ${d.governor ?? ''} ${
        d.throttled ??
        ''} ${Object.entries(d.labels ?? {}).map(([k, v]) => `${k}=${v}`).join(' ')} ${(d.missing ?? []).join(' ')}`
        .toLowerCase();

/** The devices that hold all the words and, where one is asked for, are in the state; ordered. */
export function choose(devices, {query = '', state = '', order = 'state', descending = false}) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const found = devices.filter((d) => {
    if (state && d.state !== state) return false;
    if (!words.length) return true;
    const text = haystack(d);
    return words.every((word) => text.includes(word));
  });
  const {compare} = kColumns.find((c) => c.id === order);
  const sign = descending ? -1 : 1, names = byText((d) => d.key);
  return found.sort((a, b) => sign * compare(a, b) || names(a, b));
}

export class DeviceTable {
  constructor() {
    this.all = [];
    this.page = 0;
    this.wanted = {query: '', state: '', order: 'state', descending: false};
    this.search = h('input', {
      type: 'search',
      placeholder: 'name, model, target, label',
      'aria-label': 'Search devices',
      oninput: () => this.want({query: this.search.value})
    });
    this.chips = new Map(['', ...kStates].map(
        (state) =>
            [state,
             h('button', {
               type: 'button',
               class: 'chip',
               'data-state': state || 'all',
               'aria-pressed': String(state === ''),
               onclick: () => this.want({state})
             },
               state || 'all')]));  // named before the first answer
    this.pager = pager('Pages of devices', (page) => {
      this.page = page;
      this.render();
    });
    this.order =
        h('select',
          {'aria-label': 'Order of the devices', class: 'order', onchange: () => this.sort(this.order.value, true)},
          kColumns.map((c) => h('option', {value: c.id}, `by ${c.name.toLowerCase()}`)));
    this.tools =
        h('div', {class: 'tools'},
          h('div', {class: 'chips', role: 'group', 'aria-label': 'Only devices that are'}, ...this.chips.values()),
          this.search, this.order, this.pager.node);
    this.heads = new Map(kColumns.map(
        (c) =>
            [c.id,
             h('th', {role: 'columnheader', scope: 'col', class: `c-${c.id}`, 'aria-sort': 'none'},
               h('button', {type: 'button', title: c.hint, onclick: () => this.sort(c.id)}, c.name))]));
    const body = h('tbody', {role: 'rowgroup'});
    this.nothing = h('p', {class: 'dim pad', hidden: true}, 'No device matches.');
    this.node =
        h('div', {class: 'table-box'},
          h('table', {role: 'table', class: 'devices'}, h('caption', {class: 'hidden'}, 'Devices'),
            h('thead', {role: 'rowgroup'}, h('tr', {role: 'row'}, ...this.heads.values())), body),
          this.nothing);
    this.list = new KeyedList(body, (d) => d.key, row);
  }

  sort(order, fresh = false) {
    const {down = false} = kColumns.find((c) => c.id === order);
    this.want({order, descending: this.wanted.order === order && !fresh ? !this.wanted.descending : down});
  }

  want(change) {
    Object.assign(this.wanted, change);
    this.page = 0;
    this.render();
  }

  update(devices) {
    this.all = devices;
    this.render();
  }

  render() {
    const found = choose(this.all, this.wanted);
    const counts = {};
    for (const d of this.all) counts[d.state] = (counts[d.state] ?? 0) + 1;
    for (const [state, chip] of this.chips) {
      const n = state ? (counts[state] ?? 0) : this.all.length;
      setText(chip, `${state || 'all'} ${count(n)}`);
      setAttribute(chip, 'aria-pressed', this.wanted.state === state);
      setShown(chip, n > 0 || state === '' || this.wanted.state === state);
    }
    for (const [id, head] of this.heads)
      setAttribute(
          head, 'aria-sort',
          id !== this.wanted.order   ? 'none' :
              this.wanted.descending ? 'descending' :
                                       'ascending');
    if (this.order.value !== this.wanted.order) this.order.value = this.wanted.order;
    this.page = this.pager.update(this.page, found.length, kPage);
    setShown(this.nothing, this.all.length > 0 && found.length === 0);
    this.list.update(found.slice(this.page * kPage, (this.page + 1) * kPage));
  }
}
