// Making elements. Text of the model only ever becomes text nodes and attribute values: nothing here parses HTML.
'use strict';

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on'))
      node.addEventListener(name.slice(2), value);
    else
      node.setAttribute(name, value === true ? '' : String(value));
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** An HTML element. Attributes named on… are listeners; children are nodes or text. */
const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);

/** The same for SVG. */
const s = (tag, attributes, ...children) =>
    fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);

/** A text that is broken behind its commas where it must be. */
const breakable = (text) => text.split(/(?<=,)/).flatMap((part) => [part, h('wbr')]);

/** A section with a heading; `tools` stand beside it. */
const panel = (title, tools, ...children) =>
    h('section', {class: 'panel'}, h('div', {class: 'panel-head'}, h('h2', {}, title), ...tools), ...children);

/** Names and values, one pair a line; pairs without a value are left out. */
const facts = (pairs) =>
    h('dl', {class: 'facts'},
      pairs.filter(([, value]) => value !== undefined && value !== null && value !== '')
          .map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))));

/** A text of commas as names and values: `tile=4,vector=16`. */
const knobs = (text) => h('dl', {class: 'knobs'}, text.split(',').filter((part) => part.includes('=')).map((part) => {
  const at = part.indexOf('=');
  return h('div', {}, h('dt', {}, part.slice(0, at)), h('dd', {}, part.slice(at + 1)));
}));
