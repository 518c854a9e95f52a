/** The conversation as a part of another page: its rows, images shown large, and the ways to both ends. */

import { render } from "preact";
import { useEffect, useReducer, useRef } from "preact/hooks";
import { SessionModels } from "../model/session-model.js";
import type { PageEntry, PageSession } from "../page-data.js";
import { LargeImage, Rows, useHeight } from "./conversation.js";
import { StateContext, useChanges } from "./hooks.js";
import { type ImageSource, ViewerState } from "./viewer-state.js";

/** The style of the viewer, which the build puts here. */
declare const viewerStyle: string | undefined;

/** Pixels from the end within which the conversation follows what is written. */
const endDistance = 80;
/** The first row passes through the view while the conversation scrolls to its end. */
const inViewMs = 100;

/** The functions of the other page. */
export interface Surroundings {
  /** The address of an attachment's bytes. */
  blobAddress(blob: string): Promise<string>;
  /** Asks for the entries before the first one. */
  onEarlier(): void;
}

/** The conversation in an element, whose shadow keeps the styles of both apart. */
export class EmbeddedConversation {
  readonly #state: ViewerState;
  readonly #shadow: ShadowRoot;
  #entries: readonly PageEntry[] = [];
  #written: string | undefined;
  #frame = 0;

  constructor(place: Element, around: Surroundings) {
    const models = new SessionModels([sessionAt(null)], () => []);
    const images = remoteImages(around);
    const data = { sessions: [], leftOut: [] };
    this.#state = new ViewerState({ data, models, images, isEmbedded: true });
    this.#shadow = place.shadowRoot ?? place.attachShadow({ mode: "open" });
    const style = new CSSStyleSheet();
    style.replaceSync(typeof viewerStyle === "string" ? viewerStyle : "");
    this.#shadow.adoptedStyleSheets = [style];
    render(<Embedded state={this.#state} onEarlier={() => around.onEarlier()} />, this.#shadow);
  }

  show(entries: readonly PageEntry[], hasEarlier: boolean): void {
    const before = this.#entries;
    let from = 0;
    while (from < entries.length && isEqual(entries[from], before[from])) from++;
    const isSame = from === entries.length && from === before.length;
    // The caller may add to its list and show it again.
    this.#entries = [...entries];
    const session = sessionAt(entries.at(-1)?.id ?? null);
    if (!isSame) {
      const change = { from, at: from, entries: entries.slice(from), total: entries.length };
      this.#state.update({ sessions: [{ ...session, ...change }], ...none });
      if (this.#state.view.reply?.isBroken === true) this.#state.set({ reply: undefined });
    }
    if (this.#state.view.hasEarlier !== hasEarlier) this.#state.set({ hasEarlier });
  }

  reply(text: string | undefined): void {
    this.#written = text;
    if (text === undefined) {
      cancelAnimationFrame(this.#frame);
      this.#frame = 0;
      if (this.#state.view.reply?.isBroken === false) this.#state.set({ reply: undefined });
      return;
    }
    if (this.#state.view.reply === undefined) this.#write();
    // The page is laid out at most once a frame.
    else if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#write());
  }

  breakOff(): void {
    const text = this.#written;
    this.reply(undefined);
    if (text !== undefined && text !== "") this.#state.set({ reply: { text, isBroken: true } });
  }

  toEnd(): void {
    this.#state.goEnd();
  }

  close(): void {
    cancelAnimationFrame(this.#frame);
    render(null, this.#shadow);
  }

  #write(): void {
    this.#frame = 0;
    if (this.#written !== undefined) this.#state.set({ reply: { text: this.#written, isBroken: false } });
  }
}

const none = { images: [], leftOut: [] };

/** Entries are never changed, but for an erasure, which keeps the id. */
function isEqual(one: PageEntry | undefined, other: PageEntry | undefined): boolean {
  return one?.id === other?.id && erasedAt(one) === erasedAt(other);
}

function erasedAt(entry: PageEntry | undefined): string | undefined {
  return entry !== undefined && "erased" in entry ? entry.erased?.at : undefined;
}

function sessionAt(leafId: string | null): PageSession {
  return { key: "session", leafId, diagnostics: { total: 0, listed: [] } };
}

function remoteImages(around: Surroundings): ImageSource {
  const pending = new Map<string, Promise<string>>();
  /** A view that renders again while it waits for an address does not ask again. */
  const readAddress = (blob: string) => {
    const known = pending.get(blob) ?? around.blobAddress(blob).finally(() => pending.delete(blob));
    pending.set(blob, known);
    // The view may be gone before it handles a failure.
    known.catch(() => {});
    return known;
  };
  return { leftOut: [], get: () => undefined, address: readAddress, file: readAddress, add: () => {} };
}

function Embedded({ state, onEarlier }: { readonly state: ViewerState; readonly onEarlier: () => void }) {
  useChanges(state);
  const scroller = useRef<HTMLElement>(null);
  const above = useRef<HTMLDivElement>(null);
  const margin = useHeight(above);
  useSteadyEnd(scroller);
  const { hasEarlier, image } = state.view;
  return (
    <StateContext.Provider value={state}>
      <div class="embedded">
        {/* A scrolling element is reached by the tab key and scrolled with keys. */}
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls */}
        <section ref={scroller} class="scroller" aria-label="Conversation" tabIndex={0}>
          <div ref={above}>
            {hasEarlier && <Earlier first={state.model.entries[0]?.id} onEarlier={onEarlier} />}
          </div>
          <Rows scroller={scroller} margin={margin} endDistance={endDistance} />
        </section>
        <ToEnd state={state} scroller={scroller} />
        {image !== undefined && <LargeImage state={state} image={image} />}
      </div>
    </StateContext.Provider>
  );
}

/** A conversation at its end stays there while the page around it takes room, as for files of the next message. */
function useSteadyEnd(scroller: { readonly current: HTMLElement | null }): void {
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return undefined;
    let before = element.clientHeight;
    const observer = new ResizeObserver(() => {
      const { scrollHeight, scrollTop, clientHeight } = element;
      if (scrollHeight - scrollTop - before < endDistance) element.scrollTop = scrollHeight;
      before = clientHeight;
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
}

interface EarlierProps {
  /** The first entry: a button that is still in view after earlier ones came asks again. */
  readonly first: string | undefined;
  readonly onEarlier: () => void;
}

/** Asks for earlier entries when it stays in view: a reader has scrolled up to it. */
function Earlier({ first, onEarlier }: EarlierProps) {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const observer = new IntersectionObserver(([seen]) => {
      clearTimeout(timer);
      if (seen?.isIntersecting === true) timer = setTimeout(onEarlier, inViewMs);
    });
    if (button.current !== null) observer.observe(button.current);
    return () => {
      clearTimeout(timer);
      observer.disconnect();
    };
  }, [first]);
  return (
    <button ref={button} type="button" class="earlier" onClick={onEarlier}>
      Earlier messages
    </button>
  );
}

interface ToEndProps {
  readonly state: ViewerState;
  readonly scroller: { readonly current: HTMLElement | null };
}

function ToEnd({ state, scroller }: ToEndProps) {
  const [isFar, see] = useReducer(() => {
    const { scrollHeight = 0, scrollTop = 0, clientHeight = 0 } = scroller.current ?? {};
    return scrollHeight - scrollTop - clientHeight >= endDistance;
  }, false);
  useEffect(() => {
    const element = scroller.current;
    element?.addEventListener("scroll", see, { passive: true });
    return () => element?.removeEventListener("scroll", see);
  }, []);
  return (
    <button
      type="button"
      class="to-end"
      aria-label="Scroll to the newest message"
      hidden={!isFar}
      onClick={() => state.goEnd()}
    >
      ↓
    </button>
  );
}
