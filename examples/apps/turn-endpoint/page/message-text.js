import { element } from "./element.js";

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
