// Making and updating elements. Text from outside only ever becomes text nodes and attribute values: nothing here
// parses HTML.

const kSvg = 'http://www.w3.org/2000/svg';

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on'))
      node.addEventListener(name.slice(2), value);
    else
      node.setAttribute(name, value === true ? '' : String(value));
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** An HTML element. Attributes named on… are listeners; children are nodes or text. */
export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);

/** The same for SVG. */
export const s = (tag, attributes, ...children) => fill(document.createElementNS(kSvg, tag), attributes, children);

/** Sets a node's text if it is another one. */
export function setText(node, text) {
  const value = String(text);
  if (node.childNodes.length === 1 && node.firstChild.nodeType === Node.TEXT_NODE && node.firstChild.data === value)
    return;
  node.textContent = value;
}

/** Sets an attribute if it is another one; null or undefined removes it. */
export function setAttribute(node, name, value) {
  if (value === null || value === undefined)
    node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value))
    node.setAttribute(name, String(value));
}

/** Shows or hides. */
export function setShown(node, shown) {
  if (node.hidden === shown) node.hidden = !shown;
}

/** The width of a bar's filling, a fraction. Through the object model: the content policy forbids style attributes. */
export function setWidth(node, fraction) {
  const value = `${(Math.max(0, Math.min(1, fraction || 0)) * 100).toFixed(1)}%`;
  if (node.style.width !== value) node.style.width = value;
}

/**
 * Keeps one child of `parent` for each item: made once by `make(item)`, which returns {node, update(item)}, moved when
 * the order changes, removed with its item.
 */
export class KeyedList {
  constructor(parent, keyOf, make) {
    this.parent = parent;
    this.keyOf = keyOf;
    this.make = make;
    this.views = new Map();
  }

  update(items) {
    const seen = new Set();
    let place = this.parent.firstChild;
    for (const item of items) {
      const key = this.keyOf(item);
      if (seen.has(key)) continue;
      seen.add(key);
      let view = this.views.get(key);
      if (!view) this.views.set(key, (view = this.make(item)));
      view.update(item);
      if (view.node === place)
        place = place.nextSibling;
      else
        this.parent.insertBefore(view.node, place);
    }
    for (const [key, view] of this.views) {
      if (seen.has(key)) continue;
      view.node.remove();
      this.views.delete(key);
    }
  }
}
