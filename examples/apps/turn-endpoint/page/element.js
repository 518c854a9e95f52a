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

const list = byId("notices", HTMLDivElement);

/** Maximum number of notices at once. */
const maxNotices = 3;

/**
 * Shows a notice above the message until it is dismissed or `clearNotices` is called.
 *
 * @param {string} words
 * @param {readonly { readonly name: string, readonly reason: string }[]} [details] what it is about, one by
 *   one
 */
export function notify(words, details = []) {
  const remove = element(
    "button",
    { type: "button", class: "remove", "aria-label": "Dismiss" },
    icon("remove"),
  );
  const said = element("div", { class: "notice-words" }, element("p", {}, words));
  if (details.length > 0) {
    const items = details.map(({ name, reason }) => element("li", {}, element("b", {}, name), `: ${reason}`));
    said.append(element("ul", {}, ...items));
  }
  const notice = element("div", { class: "notice" }, icon("warning"), said, remove);
  remove.addEventListener("click", () => notice.remove());
  list.append(notice);
  while (list.children.length > maxNotices) list.firstChild?.remove();
}

export function clearNotices() {
  list.replaceChildren();
}

/** As in page.css: in a narrower window the tree covers the conversation and is collapsed. */
const narrow = matchMedia("(max-width: 860px)");

/** @returns {{ closeTree: () => void }} closes it where it covers the conversation */
export function foldTree() {
  const panel = byId("tree-panel", HTMLElement);
  const toggle = byId("tree-toggle", HTMLButtonElement);
  const backdrop = byId("backdrop", HTMLDivElement);
  const main = byId("main", HTMLElement);

  /** @param {boolean} open */
  const set = (open) => {
    const covers = narrow.matches && open;
    panel.classList.toggle("open", open);
    // The tab key does not reach collapsed or covered content.
    panel.inert = narrow.matches && !open;
    main.inert = covers;
    backdrop.hidden = !covers;
    toggle.setAttribute("aria-expanded", String(open));
  };
  const close = () => {
    if (!panel.classList.contains("open")) return;
    set(false);
    toggle.focus();
  };
  toggle.addEventListener("click", () => {
    set(!panel.classList.contains("open"));
    if (panel.classList.contains("open")) byId("tree", HTMLDivElement).focus();
  });
  backdrop.addEventListener("click", close);
  byId("tree-close", HTMLButtonElement).addEventListener("click", close);
  document.addEventListener("keydown", ({ key }) => {
    if (key === "Escape" && narrow.matches) close();
  });
  narrow.addEventListener("change", () => set(false));
  set(false);
  return { closeTree: close };
}
