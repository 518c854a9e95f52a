import { byId, element } from "./element.js";

/** @import { EntrySummary } from "./api.js" */
/** @import { Session } from "./session.js" */

/**
 * What can be done with the last message of the user: write it anew, ask for another reply, and go to another
 * version of either. Nothing is replaced: each version is a branch of the session.
 */
export class TurnActions {
  #place = byId("turn-actions", HTMLDivElement);
  #versions = byId("versions", HTMLSpanElement);
  #goTo;
  /** @type {EntrySummary | undefined} */
  #asked;

  /**
   * @param {object} on
   * @param {(asked: EntrySummary) => void} on.edit
   * @param {(asked: EntrySummary) => void} on.again
   * @param {(entryId: string) => void} on.goTo
   */
  constructor(on) {
    this.#goTo = on.goTo;
    for (const name of /** @type {const} */ (["edit", "again"])) {
      byId(name, HTMLButtonElement).addEventListener("click", () => {
        if (this.#asked !== undefined) on[name](this.#asked);
      });
    }
  }

  /**
   * @param {Session} session
   * @param {boolean} isIdle
   */
  show(session, isIdle) {
    const path = session.path();
    const at = path.findLastIndex(({ role }) => role === "user");
    this.#asked = path[at];
    this.#place.hidden = !isIdle || this.#asked === undefined;
    if (this.#asked === undefined) return;
    const { id, parentId } = this.#asked;
    const messages = session.children(parentId).filter((child) => session.entry(child)?.role === "user");
    this.#versions.replaceChildren(
      ...this.#choice("message", messages, id),
      ...this.#choice("reply", session.children(id), path[at + 1]?.id),
    );
  }

  /**
   * @param {string} name
   * @param {readonly string[]} versions ids, oldest first
   * @param {string | undefined} shown
   */
  #choice(name, versions, shown) {
    const at = shown === undefined ? -1 : versions.indexOf(shown);
    if (versions.length < 2 || at === -1) return [];
    const step = (/** @type {number} */ to, /** @type {string} */ sign, /** @type {string} */ label) => {
      const id = versions[to];
      const button = element(
        "button",
        { type: "button", "aria-label": label, disabled: id === undefined },
        sign,
      );
      if (id !== undefined) button.addEventListener("click", () => this.#goTo(id));
      return button;
    };
    return [
      step(at - 1, "‹", `Earlier ${name}`),
      element("span", {}, `${name} ${at + 1}/${versions.length}`),
      step(at + 1, "›", `Later ${name}`),
    ];
  }
}
