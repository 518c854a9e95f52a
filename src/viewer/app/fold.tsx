/** A part of a message that is folded until it is asked for, or contains the words of a search. */

import type { ComponentChildren } from "preact";
import { useUpdate, useViewer } from "./hooks.js";

interface FoldProps {
  readonly id: string;
  readonly rowId: string;
  /** The text inside, for the search. */
  readonly text: string;
  readonly class: string;
  readonly summary: ComponentChildren;
  readonly children: ComponentChildren;
  readonly isOpenAtFirst?: boolean;
}

export function Fold(props: FoldProps) {
  const state = useViewer();
  const update = useUpdate();
  const open = (id: string, pieces: number) => {
    state.open(id, pieces);
    update();
  };
  const chosen = state.opened(props.id);
  // 1 is open, 2 is closed by hand, 0 is the default.
  const isOpen =
    chosen === 1 ||
    (chosen === 0 && props.isOpenAtFirst === true) ||
    state.view.printing ||
    state.patternFor(props.rowId)?.test(props.text) === true;
  return (
    <div class={`fold-part ${props.class}`}>
      <button
        type="button"
        class="fold-summary"
        data-fold={isOpen ? "open" : "closed"}
        aria-expanded={isOpen}
        onClick={() => open(props.id, isOpen ? 2 : 1)}
      >
        <span aria-hidden="true" class="arrow">
          {isOpen ? "▾" : "▸"}
        </span>{" "}
        {props.summary}
      </button>
      {isOpen && <div class="fold-body">{props.children}</div>}
    </div>
  );
}
