import { byId, element, icon } from "./element.js";

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
