import { byId, drawing, element } from "./element.js";
import { linesOf, treeRows } from "./tree-rows.js";
import { authorOf, firstWords } from "./words.js";

/** @import { Images } from "./images.js" */
/** @import { Session } from "./session.js" */
/** @import { Line, Row } from "./tree-rows.js" */

/** Sizes in pixels. */
const rowHeight = 28;
const columnWidth = 16;

/** Rows above and below the visible ones, so that scrolling shows no gap. */
const spare = 10;

/** Positions in a row. */
const maxThumbnails = 3;

/** The session's tree. Of a long one only the visible rows exist. */
export class Tree {
  #scroller = byId("tree", HTMLDivElement);
  #count = byId("tree-count", HTMLParagraphElement);
  #content = element("div", { class: "rows", role: "presentation" });
  #images;
  /** @type {(entryId: string | null) => void} */
  #choose;
  /** @type {readonly Row[]} */
  #rows = [];
  /** @type {Map<number, HTMLElement>} */
  #drawn = new Map();
  /** The row with the focus. */
  #active = 0;
  /** @type {string | null | undefined} */
  #leaf;

  /**
   * @param {Images} images
   * @param {(entryId: string | null) => void} choose
   */
  constructor(images, choose) {
    this.#images = images;
    this.#choose = choose;
    this.#scroller.append(this.#content);
    this.#scroller.addEventListener("scroll", () => this.#draw());
    new ResizeObserver(() => this.#draw()).observe(this.#scroller);
    this.#scroller.addEventListener("click", ({ target }) => {
      const row = target instanceof Element ? target.closest("[data-at]") : null;
      if (row !== null) this.#chooseAt(Number(row.getAttribute("data-at")));
    });
    this.#scroller.addEventListener("keydown", (event) => this.#onKey(event));
  }

  /** @param {boolean} isBusy whether entries may be missing */
  setBusy(isBusy) {
    this.#scroller.setAttribute("aria-busy", String(isBusy));
  }

  /** @param {Session} session */
  show(session) {
    const chosen = this.#rows[this.#active]?.entry?.id ?? null;
    // The conversation may have a leaf before the tree has it.
    const isKnown = session.leafId === null || session.entry(session.leafId) !== undefined;
    const follows = isKnown && session.leafId !== this.#leaf;
    if (isKnown) this.#leaf = session.leafId;
    this.#rows = treeRows(session);
    // The focus stays unless the leaf moves.
    const active = follows ? session.leafId : chosen;
    this.#active = Math.max(
      0,
      this.#rows.findIndex(({ entry }) => (entry?.id ?? null) === active),
    );
    const branches = this.#rows.filter(({ hasChildren, entry }) => !hasChildren && entry !== null).length;
    const entries = `${session.size.toLocaleString("en")} ${session.size === 1 ? "entry" : "entries"}`;
    this.#count.textContent =
      branches > 1 ? `${entries}, ${branches.toLocaleString("en")} branches` : entries;
    this.#content.style.height = `${this.#rows.length * rowHeight}px`;
    this.#content.replaceChildren();
    this.#drawn.clear();
    if (follows) this.#reveal();
    this.#draw();
  }

  #draw() {
    const { scrollTop, clientHeight } = this.#scroller;
    const from = Math.max(0, Math.floor(scrollTop / rowHeight) - spare);
    const to = Math.min(this.#rows.length, Math.ceil((scrollTop + clientHeight) / rowHeight) + spare);
    for (const [at, row] of this.#drawn) {
      if (at >= from && at < to) continue;
      row.remove();
      this.#drawn.delete(at);
    }
    for (let at = from; at < to; at++) {
      const row = this.#rows[at];
      if (row === undefined || this.#drawn.has(at)) continue;
      const drawn = this.#drawRow(row, at);
      this.#drawn.set(at, drawn);
      this.#content.append(drawn);
    }
    this.#markActive();
  }

  /**
   * @param {Row} row
   * @param {number} at
   */
  #drawRow(row, at) {
    const { entry, column } = row;
    const author = entry === null ? "" : authorOf(entry);
    const words = entry === null ? "Beginning" : wordsOf(entry);
    const drawn = element("div", {
      id: `row-${at}`,
      class: ["row", row.isOnPath ? "on-path" : "", row.isLeaf ? "leaf" : ""].join(" ").trim(),
      role: "treeitem",
      "data-role": entry?.role ?? "none",
      "data-at": String(at),
      "aria-level": String(column + 1),
      "aria-selected": String(row.isLeaf),
    });
    drawn.style.top = `${at * rowHeight}px`;
    drawn.style.height = `${rowHeight}px`;
    drawn.append(drawing((column + 1) * columnWidth, rowHeight, [...linesOf(row).map(pathOf), dotOf(row)]));
    if (author !== "") drawn.append(element("span", { class: "author" }, author));
    drawn.append(element("span", { class: "words" }, words));
    if (entry?.label !== undefined) drawn.append(element("span", { class: "label" }, entry.label));
    for (const resource of (entry?.resources ?? []).slice(0, maxThumbnails)) {
      drawn.append(element("span", { class: "mini" }, this.#images.thumbnail(resource)));
    }
    if (row.isLeaf) drawn.append(element("span", { class: "unseen" }, "the next message follows it"));
    return drawn;
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const page = Math.max(1, Math.floor(this.#scroller.clientHeight / rowHeight) - 1);
    /** @type {Readonly<Record<string, number>>} */
    const moves = {
      ArrowDown: this.#active + 1,
      ArrowUp: this.#active - 1,
      PageDown: this.#active + page,
      PageUp: this.#active - page,
      Home: 0,
      End: this.#rows.length - 1,
    };
    const next = moves[event.key];
    if (next !== undefined) {
      this.#active = Math.min(Math.max(next, 0), this.#rows.length - 1);
      this.#reveal();
      this.#draw();
    } else if (event.key === "Enter" || event.key === " ") {
      this.#chooseAt(this.#active);
    } else {
      return;
    }
    event.preventDefault();
  }

  /** @param {number} at */
  #chooseAt(at) {
    const row = this.#rows[at];
    if (row === undefined) return;
    this.#active = at;
    this.#markActive();
    this.#choose(row.entry?.id ?? null);
  }

  #markActive() {
    for (const [at, row] of this.#drawn) row.classList.toggle("active", at === this.#active);
    this.#scroller.setAttribute("aria-activedescendant", `row-${this.#active}`);
  }

  #reveal() {
    const top = this.#active * rowHeight;
    const { scrollTop, clientHeight } = this.#scroller;
    if (top < scrollTop + rowHeight) this.#scroller.scrollTop = top - rowHeight;
    if (top + 2 * rowHeight > scrollTop + clientHeight)
      this.#scroller.scrollTop = top + 2 * rowHeight - clientHeight;
  }
}

/** @param {import("./api.js").EntrySummary} entry */
function wordsOf({ text = "", calls = [], resources = [] }) {
  const words = firstWords(text, 80);
  if (words !== "") return words;
  if (calls.length > 0) return calls.map(({ name }) => name).join(", ");
  return resources.map(({ name, kind }) => name ?? kind).join(", ");
}

/** @param {number} column */
const middleOf = (column) => column * columnWidth + columnWidth / 2;

/** @param {Line} line */
function pathOf({ part, column, isOnPath }) {
  const x = middleOf(column);
  const half = rowHeight / 2;
  const bend = 7;
  const shapes = {
    above: `M${x} 0V${half}`,
    below: `M${x} ${half}V${rowHeight}`,
    out: `M${x} 0V${half - bend}Q${x} ${half} ${x + bend} ${half}H${middleOf(column + 1)}`,
  };
  return { d: shapes[part], name: isOnPath ? "line on-path" : "line" };
}

/** @param {Row} row */
function dotOf({ column, isLeaf }) {
  const x = middleOf(column);
  const y = rowHeight / 2;
  const r = isLeaf ? 5 : 3.5;
  return { d: `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`, name: "dot" };
}
