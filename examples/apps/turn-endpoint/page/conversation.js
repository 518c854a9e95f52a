import { byId, element, icon } from "./element.js";
import { authorOf, firstWords } from "./words.js";

/** @import { EntrySummary } from "./api.js" */
/** @import { Images } from "./images.js" */

/** Number of entries that are shown at once, and added when the reader reaches the first one. */
const pageSize = 60;

/** Within this many pixels of its end, the conversation follows new text. */
const nearEnd = 80;

/** The messages from the root to the leaf, and the reply that is being written. */
export class Conversation {
  #scroller = byId("scroller", HTMLElement);
  #list = byId("entries", HTMLOListElement);
  #empty = byId("empty", HTMLDivElement);
  #earlier = byId("earlier", HTMLButtonElement);
  #toEnd = byId("to-end", HTMLButtonElement);
  #images;
  /** @type {readonly EntrySummary[]} */
  #path = [];
  /** Index of the first entry that is shown. */
  #start = 0;
  /** @type {{ item: HTMLLIElement, text: Text } | undefined} */
  #reply;
  /** @type {HTMLLIElement | undefined} a reply that broke off */
  #rest;
  #unwritten = "";
  #follows = true;

  /** @param {Images} images */
  constructor(images) {
    this.#images = images;
    // A scrolling element is reached by the tab key and scrolled with keys.
    this.#scroller.tabIndex = 0;
    this.#earlier.addEventListener("click", () => this.#showEarlier());
    new IntersectionObserver(([seen]) => {
      if (seen?.isIntersecting && this.#scroller.scrollTop > 0) this.#showEarlier();
    }).observe(this.#earlier);
    let touched = Number.NEGATIVE_INFINITY;
    const touch = () => {
      touched = performance.now();
    };
    for (const type of ["wheel", "touchmove", "pointerdown", "keydown"]) {
      this.#scroller.addEventListener(type, touch, { passive: true });
    }
    this.#scroller.addEventListener("scroll", () => {
      const { scrollHeight, scrollTop, clientHeight } = this.#scroller;
      // Only the reader's scrolling stops following; a change of the content moves the position too.
      if (scrollHeight - scrollTop - clientHeight < nearEnd) this.#follows = true;
      else if (performance.now() - touched < 1000) this.#follows = false;
      this.#toEnd.hidden = this.#follows;
    });
    this.#toEnd.addEventListener("click", () => this.scrollToEnd());
    // Late images and a growing composer do not push the end out of sight.
    const resized = new ResizeObserver(() => this.#keepUp());
    resized.observe(this.#list);
    resized.observe(this.#scroller);
  }

  /**
   * Shows another path, and changes only the differing messages.
   *
   * @param {readonly EntrySummary[]} path
   */
  show(path) {
    const before = this.#path;
    let same = 0;
    while (same < path.length && path[same]?.id === before[same]?.id) same++;
    if (same !== before.length || same !== path.length) this.#rest = undefined;
    this.#path = path;
    const from = Math.max(same, this.#start);
    if (same < this.#start || path.length - from > pageSize) {
      this.#start = Math.max(0, path.length - pageSize);
      this.#list.replaceChildren(...this.#items(this.#start, path.length));
    } else {
      while (this.#list.children.length > from - this.#start) this.#list.lastChild?.remove();
      this.#list.append(...this.#items(from, path.length));
    }
    for (const item of [this.#rest, this.#reply?.item]) if (item !== undefined) this.#list.append(item);
    this.#showRest();
    this.#keepUp();
  }

  /** @param {string} text the next piece of the reply */
  write(text) {
    if (this.#unwritten === "") requestAnimationFrame(() => this.#writeOut());
    this.#unwritten += text;
  }

  /** The page is laid out at most once a frame. */
  #writeOut() {
    if (this.#unwritten === "") return;
    this.beginReply();
    this.#reply?.text.appendData(this.#unwritten);
    this.#reply?.item.classList.remove("waiting");
    this.#unwritten = "";
    this.#keepUp();
  }

  /** Shows that a reply is being written, before its first piece. */
  beginReply() {
    if (this.#reply !== undefined) return;
    const text = new Text();
    const item = element(
      "li",
      { class: "entry assistant reply waiting", "aria-label": "The reply, being written" },
      element("div", { class: "text" }, text, element("span", { class: "caret", "aria-hidden": "true" })),
    );
    this.#list.append(item);
    this.#reply = { item, text };
    this.#keepUp();
  }

  /** Removes the partial reply: it has arrived as an entry, or never will. */
  endReply() {
    this.#unwritten = "";
    this.#reply?.item.remove();
    this.#reply = undefined;
  }

  /** The reply broke off: its text stays, marked as unfinished, until the conversation changes. */
  breakOff() {
    this.#writeOut();
    const reply = this.#reply;
    this.#reply = undefined;
    if (reply === undefined) return;
    if (reply.text.data === "") return reply.item.remove();
    this.#rest = reply.item;
    reply.item.classList.add("broken-off");
    reply.item.append(
      element("p", { class: "aside" }, "The reply broke off here. It is not part of the session."),
    );
  }

  scrollToEnd() {
    this.#follows = true;
    this.#scroller.scrollTop = this.#scroller.scrollHeight;
  }

  #keepUp() {
    if (this.#follows) this.#scroller.scrollTop = this.#scroller.scrollHeight;
  }

  #showRest() {
    this.#empty.hidden = this.#path.length > 0;
    this.#earlier.hidden = this.#start === 0;
    this.#earlier.textContent = `${this.#start.toLocaleString("en")} earlier`;
  }

  #showEarlier() {
    if (this.#start === 0) return;
    this.#follows = false;
    const end = this.#start;
    this.#start = Math.max(0, end - pageSize);
    const { scrollHeight, scrollTop } = this.#scroller;
    this.#list.prepend(...this.#items(this.#start, end));
    this.#showRest();
    this.#scroller.scrollTop = scrollTop + this.#scroller.scrollHeight - scrollHeight;
  }

  /**
   * @param {number} from
   * @param {number} to
   */
  #items(from, to) {
    return this.#path.slice(from, to).map((entry) => this.#item(entry));
  }

  /** @param {EntrySummary} entry */
  #item(entry) {
    const { role, text = "", calls = [], resources = [] } = entry;
    const item = element("li", { class: `entry ${role ?? "note"}`, "data-id": entry.id });
    if (role === undefined) {
      // Labels and settings are shown in the tree only.
      item.hidden = text === "";
      item.append(element("p", { class: "aside" }, `${authorOf(entry)}: ${firstWords(text, 200)}`));
      return item;
    }
    item.append(element("span", { class: "unseen" }, `${authorOf(entry)}: `));
    if (resources.length > 0) {
      const buttons = resources.map((resource) => this.#images.button(resource));
      item.append(element("div", { class: "resources" }, ...buttons));
    }
    if (role === "toolResult") {
      const summary = element(
        "summary",
        {},
        icon("tool"),
        element("span", {}, firstWords(text, 90) || "Result of a tool"),
      );
      item.append(element("details", {}, summary, element("div", { class: "tool-text" }, messageText(text))));
    } else if (text !== "") {
      item.append(messageText(text));
    }
    for (const { name } of calls) item.append(element("p", { class: "call" }, icon("tool"), name));
    return item;
  }
}

/**
 * Only the beginning of a longer text is shown, with a button for the rest: laying out a megabyte takes
 * seconds.
 */
const maxCharacters = 12_000;

/**
 * A text line by line, with code between fences and backticks marked.
 *
 * @param {string} text
 * @returns {HTMLElement}
 */
export function messageText(text) {
  const shown = element("div", { class: "text" });
  if (text.length <= maxCharacters) {
    shown.append(...blocksOf(text));
    return shown;
  }
  const more = element("button", { type: "button", class: "link" });
  let end = 0;
  const showMore = () => {
    const piece = text.slice(end, end + maxCharacters);
    end += piece.length;
    more.before(piece);
    more.textContent = `Show more (${(text.length - end).toLocaleString("en")} characters)`;
    more.hidden = end === text.length;
  };
  shown.append(more);
  showMore();
  more.addEventListener("click", showMore);
  return shown;
}

/**
 * @param {string} text
 * @returns {readonly Node[]}
 */
function blocksOf(text) {
  /** @type {Node[]} */
  const nodes = [];
  let at = 0;
  for (const match of text.matchAll(/^```[^\n`]*\n([\s\S]*?)^```[^\S\n]*$\n?/gm)) {
    nodes.push(...inlinesOf(text.slice(at, match.index)));
    nodes.push(element("pre", { tabindex: "0" }, element("code", {}, match[1] ?? "")));
    at = match.index + match[0].length;
  }
  nodes.push(...inlinesOf(text.slice(at)));
  return nodes;
}

/**
 * @param {string} text
 * @returns {readonly Node[]}
 */
function inlinesOf(text) {
  if (text.trim() === "") return [];
  return text
    .trim()
    .split(/(`[^`\n]+`)/)
    .map((piece, at) =>
      at % 2 === 1 ? element("code", { class: "inline" }, piece.slice(1, -1)) : new Text(piece),
    );
}
