import { byId } from "./element.js";

/** As in page.css: in a narrower window the tree covers the conversation and is collapsed. */
const narrow = matchMedia("(max-width: 60rem)");

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
