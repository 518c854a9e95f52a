/** One HTML file that shows a session: the built application with the session's data in it. */

import type { ModelPrice } from "../cost/index.js";
import { integerOption, stringArgument } from "../internal/arguments.js";
import type { Diagnostics, SessionHeader } from "../session/index.js";
import { type ImageBlobs, loadImages, separateImages } from "./images.js";
import {
  dataElements,
  type LeftOutImage,
  type PageData,
  type PageEntry,
  type PageImage,
  type PageSession,
  type PageUpdate,
} from "./page-data.js";

/** A session to show. A `ParsedSession` and an `ImportedSession` fit. */
export interface ViewerSource {
  readonly header: SessionHeader | undefined;
  readonly entries: readonly PageEntry[];
  readonly leafId: string | null;
  readonly diagnostics?: Diagnostics;
  /** Sessions of subagents, by the ids that `sessile.subagent` entries name. */
  readonly children?: readonly ViewerSource[];
}

/** A session of a page, with the key that it has there. */
export interface KeyedSource {
  readonly key: string;
  readonly source: ViewerSource;
}

/** Options of {@link viewerHtml}. */
export interface ViewerOptions {
  /** The application, as the package's build makes it; see `readViewerTemplate`. */
  readonly template: string;
  /** The agent that wrote the session, such as `claude-code`. */
  readonly agent?: string;
  /** The bytes of stored images. Without it only inline images are in the page. */
  readonly blobs?: ImageBlobs;
  /** Bytes of images in the page. The largest ones are left out first. @default 20 MB */
  readonly maxImageBytes?: number;
  /** Custom prices, which precede the library's own. */
  readonly prices?: readonly ModelPrice[];
  /**
   * The path of an event stream on the page's own origin, which continues the session; see
   * {@link viewerEvent}. Without it the page makes no request at all.
   */
  readonly live?: string;
}

/** A page in parts, because one string cannot hold the largest sessions. Joined, they are the file. */
export interface ViewerPage {
  readonly parts: readonly string[];
  /** Images that are not in the page. */
  readonly leftOut: readonly LeftOutImage[];
}

const defaultImageBytes = 20_000_000;
/** Entries are parsed block by block, so that a large session does not need one huge string. */
const entryBlockLength = 4_000_000;
const maxListedDiagnostics = 200;
/** The place of the data in the template. */
const dataPlace = "<!--session-data-->";
const connectNothing = "connect-src 'none'";

/**
 * Makes the page of a session. Nothing in the session can run: data is JSON in inert elements, and the policy
 * of the page allows only the application's own script, by its hash.
 *
 * @throws TypeError for a template without a place for data; errors of the blob store
 */
export async function viewerHtml(source: ViewerSource, options: ViewerOptions): Promise<ViewerPage> {
  const { template, agent, blobs, prices, live } = options;
  const maxImageBytes = integerOption("maxImageBytes", options.maxImageBytes, defaultImageBytes, 0);
  const [head, tail, ...more] = stringArgument("template", template).split(dataPlace);
  if (head === undefined || tail === undefined || more.length > 0) {
    throw new TypeError("template: expected the viewer's application, with one place for data");
  }
  const sessions = keyedSources(source).map((keyed) => ({
    session: pageSession(keyed),
    ...separateImages(keyed.key, keyed.source.entries),
  }));
  const found = sessions.flatMap((each) => each.found);
  const { images, leftOut } = await loadImages(found, blobs, maxImageBytes);
  const data: PageData = {
    sessions: sessions.map(({ session }) => session),
    ...(agent !== undefined && { agent }),
    ...(prices !== undefined && { prices }),
    leftOut,
    ...(live !== undefined && { live }),
  };
  const policed = live === undefined ? head : head.replace(connectNothing, "connect-src 'self'");
  const parts = [
    policed,
    jsonElement(`id="${dataElements.session}"`, inertJson(data)),
    ...sessions.flatMap(({ entries }, at) => [...entryElements(entries, at)]),
    ...images.map(imageElement),
    tail,
  ];
  return { parts, leftOut };
}

/** A session and those of its subagents, each with its key in a page, without entries of a repeated id. */
export function keyedSources(source: ViewerSource): readonly KeyedSource[] {
  const keys = new Set<string>();
  const keyed = (each: ViewerSource): readonly KeyedSource[] => {
    const id = each.header?.id ?? "session";
    let key = id;
    for (let copy = 2; keys.has(key); copy++) key = `${id} (${copy})`;
    keys.add(key);
    return [
      { key, source: { ...each, entries: unique(each.entries) } },
      ...(each.children ?? []).flatMap(keyed),
    ];
  };
  return keyed(source);
}

function unique(entries: readonly PageEntry[]): readonly PageEntry[] {
  const ids = new Set<string>();
  return entries.filter(({ id }) => !ids.has(id) && ids.add(id));
}

function pageSession({ key, source }: KeyedSource): PageSession {
  const { header, leafId, diagnostics } = source;
  return {
    key,
    ...(header !== undefined && { header }),
    leafId,
    diagnostics: {
      total: diagnostics?.total ?? 0,
      listed: diagnostics?.slice(0, maxListedDiagnostics) ?? [],
    },
  };
}

/** A session that changed: of its entries the first `from` ones stayed. */
export interface ChangedSource extends KeyedSource {
  readonly from: number;
}

/** Makes the event that changes the sessions of an open page: a message of a `text/event-stream`. */
export async function viewerEvent(
  changed: readonly ChangedSource[],
  options: Pick<ViewerOptions, "blobs" | "maxImageBytes"> & {
    /** A page that connects again sends it back. */
    readonly version: number;
  },
): Promise<string> {
  const maxImageBytes = integerOption("maxImageBytes", options.maxImageBytes, defaultImageBytes, 0);
  const sessions = changed.map(({ from, ...keyed }) => ({
    ...{ session: pageSession(keyed), from },
    ...separateImages(keyed.key, keyed.source.entries.slice(from)),
  }));
  const found = sessions.flatMap((each) => each.found);
  const update: PageUpdate = {
    sessions: sessions.map(({ session, from, entries }) => ({ ...session, from, entries })),
    ...(await loadImages(found, options.blobs, maxImageBytes)),
  };
  return `event: change\nid: ${options.version}\ndata: ${inertJson(update)}\n\n`;
}

/**
 * JSON that ends no script element and no line of JavaScript: `<` and the line separators U+2028 and U+2029
 * are escaped. So `</script>` and `<!--` cannot occur.
 *
 * @see https://html.spec.whatwg.org/multipage/scripting.html#restrictions-for-contents-of-script-elements
 */
export function inertJson(value: unknown): string {
  return JSON.stringify(value).replace(/[<\u2028\u2029]/g, (char) =>
    char === "<" ? "\\u003c" : `\\u${char.charCodeAt(0).toString(16)}`,
  );
}

function jsonElement(attributes: string, json: string): string {
  return `<script type="application/json" ${attributes}>${json}</script>\n`;
}

/** @param session the number of the entries' session in the page */
function* entryElements(entries: readonly PageEntry[], session: number): Generator<string, void, undefined> {
  let block: string[] = [];
  let length = 0;
  const place = `class="${dataElements.entries}" data-session="${session}"`;
  const element = () => jsonElement(place, `[${block.join(",\n")}]`);
  for (const entry of entries) {
    const json = inertJson(entry);
    block.push(json);
    length += json.length;
    if (length < entryBlockLength) continue;
    yield element();
    block = [];
    length = 0;
  }
  if (block.length > 0) yield element();
}

function imageElement({ key, mediaType, base64 }: PageImage): string {
  const place = `class="${dataElements.image}" data-key="${attributeText(key)}"`;
  return `<script type="application/octet-stream" ${place} data-type="${mediaType}">${base64}</script>\n`;
}

/** A key may be any text of the session. */
function attributeText(text: string): string {
  return text.replace(/[&"<>\0]/g, (char) => `&#${char.charCodeAt(0) || 0xfffd};`);
}
