/** Modal dialogs, such as an image shown large. */

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { ViewerState } from "./viewer-state.js";

/** A modal dialog, which the browser closes with Escape. */
export function Dialog(props: {
  readonly title: string;
  readonly class?: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} class={props.class ?? ""} aria-label={props.title} onClose={props.onClose}>
      <div class="dialog-head">
        <h2>{props.title}</h2>
        <button type="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
      {props.children}
    </dialog>
  );
}

export function LargeImage(props: {
  readonly state: ViewerState;
  readonly image: { readonly src: string; readonly name: string };
}) {
  const { src, name } = props.image;
  return (
    <Dialog title={name} class="large-image" onClose={() => props.state.set({ image: undefined })}>
      <img src={src} alt={name} />
    </Dialog>
  );
}
