/**
 * Makes an element. A string becomes text, never markup, so untrusted names and messages are safe. The page
 * makes all of its elements here.
 *
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Readonly<Record<string, string | boolean>>} [attributes] true for one without a value, false for
 *   none
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

const svg = "http://www.w3.org/2000/svg";

/**
 * A drawing beside a word with the same meaning, or in a button with a label: hidden from screen readers.
 *
 * @param {string} name of a symbol in index.html
 */
export function icon(name) {
  const use = document.createElementNS(svg, "use");
  use.setAttribute("href", `#icon-${name}`);
  const drawing = document.createElementNS(svg, "svg");
  drawing.setAttribute("class", "icon");
  drawing.setAttribute("aria-hidden", "true");
  drawing.append(use);
  return drawing;
}

/**
 * Lines of an SVG, each a path.
 *
 * @param {number} width
 * @param {number} height
 * @param {readonly { readonly d: string, readonly name: string }[]} lines
 */
export function drawing(width, height, lines) {
  const drawn = document.createElementNS(svg, "svg");
  drawn.setAttribute("width", String(width));
  drawn.setAttribute("height", String(height));
  drawn.setAttribute("aria-hidden", "true");
  for (const { d, name } of lines) {
    const path = document.createElementNS(svg, "path");
    path.setAttribute("d", d);
    path.setAttribute("class", name);
    drawn.append(path);
  }
  return drawn;
}

/**
 * An element of index.html.
 *
 * @template {HTMLElement} E
 * @param {string} id
 * @param {new () => E} type
 * @returns {E}
 */
export function byId(id, type) {
  const found = document.getElementById(id);
  if (found instanceof type) return found;
  throw new Error(`index.html has no ${type.name} #${id}`);
}
