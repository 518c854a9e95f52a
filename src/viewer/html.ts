/** One HTML file that shows a session: the built application with the session's data in it. */

import { integerOption, stringArgument } from "../core/arguments.js";
import type { ModelPrice } from "../providers/cost/index.js";
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
  /** Only the newest entries of the path are here; the event stream of `live` brings all of them. */
  readonly isPart?: boolean;
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
  /** The path of the list of all sessions, for a link. */
  readonly list?: string;
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
/** Characters of an event, but for a longer entry and for images. */
const eventLength = 1_000_000;
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
  const { template, agent, blobs, prices, live, list } = options;
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
    ...(list !== undefined && { list }),
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
  const { header, leafId, diagnostics, isPart } = source;
  return {
    key,
    ...(header !== undefined && { header }),
    leafId,
    diagnostics: {
      total: diagnostics?.total ?? 0,
      listed: diagnostics?.slice(0, maxListedDiagnostics) ?? [],
    },
    ...(isPart === true && { isPart }),
  };
}

/** A session that changed: of its entries the first `from` ones stayed. */
export interface ChangedSource extends KeyedSource {
  readonly from: number;
}

/** A run of entries of one session, for one event. */
interface Block {
  readonly changed: ChangedSource;
  readonly at: number;
  readonly entries: readonly PageEntry[];
  /** Characters of JSON. */
  readonly length: number;
}

/**
 * Makes the events that change the sessions of an open page: messages of a `text/event-stream`. The entries of
 * a large change come in blocks, the newest first. Only the last event has an id: a page that lost its
 * connection before gets all of them again.
 */
export async function* viewerEvents(
  changed: readonly ChangedSource[],
  options: Pick<ViewerOptions, "blobs" | "maxImageBytes"> & {
    /** A page that connects again sends it back. */
    readonly version: number;
  },
): AsyncGenerator<string, void, undefined> {
  let room = integerOption("maxImageBytes", options.maxImageBytes, defaultImageBytes, 0);
  const event = async (blocks: readonly Block[], isLast: boolean): Promise<string> => {
    const sessions = blocks.map(({ changed, at, entries }) => ({
      ...{ session: pageSession(changed), from: changed.from, at, total: changed.source.entries.length },
      ...separateImages(changed.key, entries),
    }));
    const found = sessions.flatMap((each) => each.found);
    const loaded = await loadImages(found, options.blobs, room);
    room -= loaded.images.reduce((sum, { base64 }) => sum + Math.floor((base64.length * 3) / 4), 0);
    const update: PageUpdate = {
      sessions: sessions.map(({ session, found: _images, ...block }) => ({ ...session, ...block })),
      ...loaded,
    };
    const id = isLast ? `id: ${options.version}\n` : "";
    return `event: change\n${id}data: ${inertJson(update)}\n\n`;
  };
  let waiting: Block[] = [];
  let length = 0;
  for (const block of changed.flatMap((each) => [...changedBlocks(each)])) {
    if (waiting.length > 0 && length + block.length > eventLength) {
      yield await event(waiting, false);
      [waiting, length] = [[], 0];
    }
    waiting.push(block);
    length += block.length;
  }
  if (waiting.length > 0) yield await event(waiting, true);
}

/** The changed entries in blocks, the last entries first; without any, one empty block. */
function* changedBlocks(changed: ChangedSource): Generator<Block, void, undefined> {
  const { from, source } = changed;
  const { entries } = source;
  let [at, end, length] = [entries.length, entries.length, 0];
  while (at > from) {
    length += JSON.stringify(entries[--at]).length;
    if (length < eventLength || at === from) continue;
    yield { changed, at, entries: entries.slice(at, end), length };
    [end, length] = [at, 0];
  }
  yield { changed, at: from, entries: entries.slice(from, end), length };
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
