import {
  type BlobRef,
  blockResource,
  type ContextMessage,
  type EntryNode,
  messageText,
  type RecentPage,
  type Session,
  type SessionEntry,
  type SessionStore,
  type SessionTree,
  type StoredResource,
  toolCalls,
  type UnknownEntry,
} from "sessile";
import { HttpFailure } from "../support/http.js";

/** A turn that runs. */
export interface RunningTurn {
  readonly signal: AbortSignal;
  /** Allows the next turn. */
  end(): void;
}

/** The bounds of one page of the conversation. */
const pageBounds = { messages: 60, bytes: 2 ** 20 };

/** The session of the server, one turn at a time. */
export class ServedSession implements AsyncDisposable {
  readonly session: Session;
  #running: { readonly abort: AbortController; readonly ended: Promise<void> } | undefined;
  #blobs: Promise<Set<BlobRef>> | undefined;

  constructor(session: Session) {
    this.session = session;
  }

  /** The latest session of the store, or a new one. */
  static async open(sessions: SessionStore, cwd: string): Promise<ServedSession> {
    const latest = await sessions.latest();
    return new ServedSession(
      latest === undefined
        ? await sessions.create({ cwd })
        : await sessions.open(latest.id, { mode: "write" }),
    );
  }

  get running(): boolean {
    return this.#running !== undefined;
  }

  /**
   * Throws while a turn runs.
   *
   * @throws HttpFailure 409
   */
  assertIdle(): void {
    if (this.#running === undefined) return;
    throw new HttpFailure(409, { code: "TURN_RUNNING", message: "a turn is running" });
  }

  /**
   * Begins a turn. Only an abort, the time limit or `end` ends it.
   *
   * @throws HttpFailure 409 while another runs
   */
  begin(turnMs: number): RunningTurn {
    this.assertIdle();
    const abort = new AbortController();
    let ended = () => {};
    const done = new Promise<void>((resolve) => {
      ended = resolve;
    });
    const timer = setTimeout(() => abort.abort(tooLong(turnMs)), turnMs);
    const running = { abort, ended: done };
    this.#running = running;
    return {
      signal: abort.signal,
      end: () => {
        clearTimeout(timer);
        // A second call must not end a later turn.
        if (this.#running === running) this.#running = undefined;
        ended();
      },
    };
  }

  /** Aborts the running turn; false if there is none. */
  abort(): boolean {
    this.#running?.abort.abort(aborted());
    return this.#running !== undefined;
  }

  /**
   * Moves the leaf durably.
   *
   * @throws SessileError ENTRY_NOT_FOUND; HttpFailure 409 while a turn runs
   */
  async moveTo(entryId: string | null): Promise<void> {
    this.assertIdle();
    await this.session.branch(entryId);
    await this.session.flush();
  }

  /** The newest part of the path to the leaf, or the part before a cursor: one screen or a few. */
  recent(before: string | undefined): Promise<RecentPage> {
    return this.session.recent({ ...pageBounds, ...(before === undefined ? {} : { before }) });
  }

  /** Yields entries one by one, parents before children. A long session is never in memory as a whole. */
  async *summaries(): AsyncGenerator<EntrySummary> {
    const tree = await this.session.tree();
    for (const { node } of tree.walk()) {
      yield summaryOf(tree, node, await this.session.entry(node.id));
    }
  }

  /** Whether an entry of this session names a blob. Other blobs of the store are not served. */
  async names(ref: BlobRef): Promise<boolean> {
    this.#blobs ??= this.#readBlobs().catch((error: unknown) => {
      this.#blobs = undefined;
      throw error;
    });
    return (await this.#blobs).has(ref);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const running = this.#running;
    running?.abort.abort(aborted());
    await running?.ended;
    await this.session.close();
  }

  async #readBlobs(): Promise<Set<BlobRef>> {
    const refs = new Set<BlobRef>();
    const add = (entry: SessionEntry | UnknownEntry | undefined) => {
      if (entry?.type !== "message") return;
      for (const { blob } of storedResources(entry.message)) refs.add(blob);
    };
    // Before the walk, so that no concurrent append is missed.
    const forget = this.session.on("entry", ({ entry }) => add(entry));
    try {
      for (const { node } of (await this.session.tree()).walk()) add(await this.session.entry(node.id));
    } catch (error) {
      forget();
      throw error;
    }
    return refs;
  }
}

function aborted(): HttpFailure {
  return new HttpFailure(409, { code: "ABORTED", message: "the turn was aborted" });
}

function tooLong(turnMs: number): HttpFailure {
  return new HttpFailure(504, { code: "TIMED_OUT", message: `the turn took longer than ${turnMs} ms` });
}

/** An entry as the tree of the page shows it. */
export interface EntrySummary {
  readonly id: string;
  readonly parentId: string | null;
  readonly type: string;
  readonly role?: string;
  /** The text, without descriptors of attachments. */
  readonly text?: string;
  readonly calls?: readonly { readonly name: string }[];
  readonly resources?: readonly ResourceSummary[];
  readonly label?: string;
}

type ResourceSummary = Pick<
  StoredResource,
  "resourceId" | "kind" | "name" | "mediaType" | "size" | "width" | "height" | "blob"
>;

/** Summarises an entry; of a damaged one only its place. */
export function summaryOf(
  tree: SessionTree,
  { id, parentId, type }: Pick<EntryNode, "id" | "parentId" | "type">,
  entry: SessionEntry | UnknownEntry | undefined,
): EntrySummary {
  const label = tree.label(id);
  return { id, parentId, type, ...factsOf(entry), ...(label === undefined ? {} : { label }) };
}

function factsOf(entry: SessionEntry | UnknownEntry | undefined): Partial<EntrySummary> {
  if (entry?.type === "compaction" || entry?.type === "branch_summary") return { text: entry.summary };
  if (entry?.type !== "message") return {};
  const { message } = entry;
  const calls = message.role === "assistant" ? toolCalls(message).map(({ name }) => ({ name })) : [];
  const resources = storedResources(message).map(resourceSummary);
  const { role } = message;
  return {
    ...(role === "user" || role === "assistant" || role === "toolResult" ? { role } : {}),
    text: messageText(message),
    ...(calls.length === 0 ? {} : { calls }),
    ...(resources.length === 0 ? {} : { resources }),
  };
}

/** The resources of a message that have bytes. */
function storedResources(message: ContextMessage): readonly StoredResource[] {
  if (!("content" in message) || typeof message.content === "string") return [];
  return message.content.flatMap((block) => {
    const resource = blockResource(block);
    return resource === undefined || resource.kind === "link" ? [] : [resource];
  });
}

function resourceSummary(resource: StoredResource): ResourceSummary {
  const { resourceId, kind, name, mediaType, size, width, height, blob } = resource;
  return {
    resourceId,
    kind,
    ...(name === undefined ? {} : { name }),
    mediaType,
    size,
    ...(width === undefined ? {} : { width }),
    ...(height === undefined ? {} : { height }),
    blob,
  };
}
