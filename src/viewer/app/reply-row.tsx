/** A reply while it is written: the last row, which is no entry of the session yet. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { Markdown } from "./markdown.js";
import type { PartialReply } from "./view-state.js";

interface ReplyRowProps {
  readonly reply: PartialReply;
  readonly index: number;
  readonly measure: (element: Element | null) => void;
}

export function ReplyRow({ reply, index, measure }: ReplyRowProps) {
  const element = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    measure(element.current);
    return () => measure(null);
  }, []);
  const { text, isBroken } = reply;
  return (
    <article
      ref={element}
      class={`row assistant reply ${isBroken ? "broken" : ""}`}
      data-index={index}
      aria-label={isBroken ? "A reply that broke off" : "The reply, being written"}
    >
      <header class="row-head">
        <h3>Assistant</h3>
      </header>
      {text !== "" && <Markdown text={text} />}
      {isBroken ? (
        <p class="small">The reply broke off here. It is not part of the session.</p>
      ) : (
        <span class="caret" aria-hidden="true" />
      )}
    </article>
  );
}
