/**
 * A checkpointer for LangGraph: threads as sessions, each value stored once.
 *
 * @module langgraph
 */

import { describe } from "../../core/arguments.js";
import type { EntryDraft, Session } from "../../session/index.js";
import {
  type AdapterOptions,
  adapterSettings,
  SessionHandles,
  type SessionPlace,
} from "../shared/handles.js";
import { canonicalText, entryId, Parcels } from "../shared/parcels.js";
import {
  type BaseSaver,
  type CheckpointModule,
  type CheckpointQuery,
  type CheckpointTuple,
  checkpointEntry,
  compareByCodePoint,
  type GraphCheckpoint,
  omittedKind,
  type PendingWrite,
  type PlannedValue,
  type RunConfig,
  readCheckpoint,
  readWrite,
  type Serialized,
  type Serializer,
  type StoredCheckpoint,
  ThreadIndex,
  type TypedModule,
  Values,
  writeEntry,
} from "./thread.js";

export type { Serializer } from "./thread.js";

// The checkpointer: a class that extends LangGraph's own base class.

/** An instance of the module's base class, with numbers as channel versions. */
export type LanggraphCheckpointer<M extends CheckpointModule> = InstanceType<M["BaseCheckpointSaver"]> & {
  /** The version after `current`. */
  getNextVersion(current: number | undefined): number;
  /** Releases the open sessions. A later call opens them again. */
  close(): Promise<void>;
};

/** Options of {@link langgraphCheckpointer}. */
interface LanggraphOptions extends AdapterOptions {
  /** Converts values of channels. @default the serializer of the base class */
  readonly serde?: Serializer;
}

/** Where a checkpoint is. */
interface CheckpointPlace {
  readonly threadId: string;
  readonly namespace: string;
}

const adapter = "langgraph";

/**
 * A checkpointer for LangGraph on sessions: one session for each thread.
 *
 * Each message and each value of a channel is stored once, not once per step; images and other large values
 * go to `blobs`. Branches of a thread keep their own values.
 * @param module the module `@langchain/langgraph-checkpoint`
 * @returns an instance of its `BaseCheckpointSaver`, with `close`, which releases the open sessions
 * @throws TypeError, RangeError for invalid options
 */
export function langgraphCheckpointer<M extends CheckpointModule>(
  module: M,
  options: LanggraphOptions,
): LanggraphCheckpointer<M> {
  if (typeof module?.BaseCheckpointSaver !== "function")
    throw new TypeError("module: expected the module @langchain/langgraph-checkpoint");
  const settings = adapterSettings(adapter, options);
  const typed = module as unknown as TypedModule;
  const { WRITES_IDX_MAP, TASKS, getCheckpointId } = typed;
  // The serializer of the base class takes text as well, which saves a conversion.
  const values = new Values(new Parcels(settings), settings.blobs, options.serde === undefined);
  const handles = new SessionHandles(adapter, settings);
  const indexes = new WeakMap<Session, ThreadIndex>();
  const placeByThreadId = (threadId: string): SessionPlace => ({
    partition: settings.partition,
    key: threadId,
  });

  const indexOf = async (session: Session): Promise<ThreadIndex> => {
    const index = indexes.get(session) ?? new ThreadIndex(await session.tree(), session.leafId);
    indexes.set(session, index);
    return index;
  };

  /** Appends after a checkpoint, or after the leaf, and adds the entries to the index. */
  const append = (
    threadId: string,
    plan: (
      session: Session | undefined,
      index: ThreadIndex,
    ) => Promise<{ readonly drafts: readonly EntryDraft[]; readonly behind: string | undefined }>,
  ): Promise<void> =>
    handles.append(placeByThreadId(threadId), async (found) => {
      const index = found === undefined ? new ThreadIndex() : await indexOf(found);
      const { drafts, behind } = await plan(found, index);
      return {
        drafts,
        ...(behind === undefined ? {} : { parent: behind }),
        done: (session, written) => {
          if (session === undefined) return;
          const ids = written.map(({ id }) => id);
          if (session === found) index.add(ids, behind);
        },
      };
    });

  class SessileCheckpointer extends (typed.BaseCheckpointSaver as abstract new (
    serde?: Serializer,
  ) => BaseSaver) {
    async getTuple(config: RunConfig): Promise<CheckpointTuple | undefined> {
      if (config.configurable?.thread_id === undefined) return undefined;
      const place = placeIn(config);
      const wanted = stringIn("checkpoint_id", getCheckpointId(config));
      return handles.read(placeByThreadId(place.threadId), async (session) => {
        const id = wanted || (session && (await indexOf(session)).newest(place.namespace));
        if (session === undefined || id === undefined) return undefined;
        const tuple = await this.#tuple(session, place, id);
        return tuple && wanted !== "" ? { ...tuple, config } : tuple;
      });
    }

    async *list(config: RunConfig, query: CheckpointQuery = {}): AsyncGenerator<CheckpointTuple> {
      const { thread_id, checkpoint_ns, checkpoint_id } = config.configurable ?? {};
      const before = query.before?.configurable?.checkpoint_id;
      let left = query.limit ?? Infinity;
      for await (const threadId of thread_id ? [stringIn("thread_id", thread_id)] : threadIds()) {
        const found = await handles.read(placeByThreadId(threadId), async (session) => {
          const index = session && (await indexOf(session));
          return index?.namespaces.flatMap((namespace) =>
            index.ids(namespace).map((id) => ({ namespace, id })),
          );
        });
        for (const { namespace, id } of found ?? []) {
          if (checkpoint_ns !== undefined && namespace !== checkpoint_ns) continue;
          if (checkpoint_id && id !== checkpoint_id) continue;
          if (typeof before === "string" && before !== "" && id >= before) continue;
          if (left <= 0) return;
          const tuple = await handles.read(
            placeByThreadId(threadId),
            async (session) => session && this.#tuple(session, { threadId, namespace }, id, query.filter),
          );
          if (tuple === undefined) continue;
          left--;
          yield tuple;
        }
      }
    }

    async put(
      config: RunConfig,
      checkpoint: GraphCheckpoint,
      metadata: unknown,
      newVersions?: Readonly<Record<string, unknown>>,
    ): Promise<RunConfig> {
      const { threadId, namespace } = placeIn(config);
      const parent = config.configurable?.checkpoint_id;
      if (parent !== undefined) stringIn("checkpoint_id", parent);
      const { channel_values, ...head } = typed.copyCheckpoint(checkpoint);
      const id = stringIn("checkpoint.id", checkpoint.id);
      const { serde } = this;
      const [dumpedHead, dumpedMetadata, ...dumped] = await Promise.all([
        values.dump(serde, head),
        values.dump(serde, metadata),
        ...Object.entries(channel_values).map(async ([channel, value]) => ({
          channel,
          // As in other savers, a channel whose version is not new keeps the value of an earlier checkpoint.
          isNew:
            newVersions === undefined ||
            Object.hasOwn(newVersions, channel) ||
            !Object.hasOwn(head.channel_versions ?? {}, channel),
          value: await values.dump(serde, value),
        })),
      ]);
      await append(threadId, async (session, index) => {
        const drafts: EntryDraft[] = [];
        const parentEntry = parent === undefined ? undefined : index.checkpoint(namespace, parent as string);
        const bases = new Map(
          session && parentEntry ? (await readCheckpoint(session, parentEntry)).values : [],
        );
        const store = async (
          value: Serialized,
          name: string,
          isNew: boolean,
        ): Promise<string | undefined> => {
          const planned = await values.plan(value, session, entryId(threadId, namespace, name));
          const isKnown =
            (await session?.tree())?.has(planned.id) === true ||
            drafts.some((draft) => draft.id === planned.id);
          if (!isKnown && !isNew) return undefined;
          if (name !== "") lists.push([planned, bases.get(name)]);
          if (!isKnown) await values.addDrafts(drafts, session, planned, bases.get(name));
          return planned.id;
        };
        const lists: [PlannedValue, string | undefined][] = [];
        const stored: [string, string][] = [];
        for (const { channel, value, isNew } of dumped) {
          const value_id = await store(value, channel, isNew);
          if (value_id !== undefined) stored.push([channel, value_id]);
        }
        const behind = parentEntry === undefined ? await sessionRoot(session) : index.parentFor(parentEntry);
        if (session !== undefined && index.checkpoint(namespace, id) === undefined)
          await values.addShown(drafts, session, behind ?? session.leafId, lists, (target) =>
            entryId(omittedKind, namespace, id, target),
          );
        const data: StoredCheckpoint = {
          head: (await store(dumpedHead, "", true)) as string,
          metadata: (await store(dumpedMetadata, "", true)) as string,
          values: stored,
          ...(parent === undefined ? {} : { parent: parent as string }),
        };
        const last = index.checkpoint(namespace, id);
        const isStored =
          session && last && canonicalText(await readCheckpoint(session, last)) === canonicalText(data);
        if (!isStored)
          drafts.push({ ...checkpointEntry.draft(data), id: index.nextCheckpoint(namespace, id) });
        return { drafts, behind };
      });
      return { configurable: { thread_id: threadId, checkpoint_ns: namespace, checkpoint_id: id } };
    }

    async putWrites(
      config: RunConfig,
      writes: readonly (readonly [channel: string, value: unknown])[],
      taskId: string,
      taskPath = "",
    ): Promise<void> {
      const { threadId, namespace } = placeIn(config);
      const id = stringIn("checkpoint_id", config.configurable?.checkpoint_id);
      stringIn("taskId", taskId);
      const dumped = await Promise.all(
        writes.map(async ([channel, value], at) => ({
          channel,
          index: WRITES_IDX_MAP[channel] || at,
          value: await values.dump(this.serde, value),
        })),
      );
      // Of writes with the same special index the last one counts.
      const unique = new Map(dumped.map((write) => [write.index, write]));
      await append(threadId, async (session, index) => {
        const drafts: EntryDraft[] = [];
        for (const { channel, index: at, value } of unique.values()) {
          const last = index.write(namespace, id, taskId, at);
          if (last !== undefined && at >= 0) continue;
          const planned = await values.plan(value);
          const data = { channel, value: planned.id, ...(taskPath === "" ? {} : { path: taskPath }) };
          const isStored =
            session && last && canonicalText(await readWrite(session, last)) === canonicalText(data);
          if (isStored) continue;
          await values.addDrafts(drafts, session, planned, undefined, true);
          drafts.push({ ...writeEntry.draft(data), id: index.nextWrite(namespace, id, taskId, at) });
        }
        const checkpoint = index.checkpoint(namespace, id);
        return { drafts, behind: checkpoint === undefined ? undefined : index.parentFor(checkpoint) };
      });
    }

    async deleteThread(threadId: string): Promise<void> {
      await handles.delete(placeByThreadId(stringIn("threadId", threadId)));
    }

    /** Releases the open sessions. A later call opens them again. */
    async close(): Promise<void> {
      await handles.close();
    }

    /** A checkpoint with its writes; undefined if there is none, or the filter excludes it. */
    async #tuple(
      session: Session,
      { threadId, namespace }: CheckpointPlace,
      id: string,
      filter: CheckpointQuery["filter"] = {},
    ): Promise<CheckpointTuple | undefined> {
      const index = await indexOf(session);
      const entry = index.checkpoint(namespace, id);
      if (entry === undefined) return undefined;
      const stored = await readCheckpoint(session, entry);
      const load = (ids: readonly string[]) => values.load(this.serde, session, ids);
      const [metadata] = (await load([stored.metadata])) as [Readonly<Record<string, unknown>>];
      for (const [key, value] of Object.entries(filter)) if (metadata[key] !== value) return undefined;
      const [head, ...loaded] = await load([stored.head, ...stored.values.map(([, value]) => value)]);
      const channels = stored.values.map(([channel], at) => [channel, loaded[at]] as const);
      const checkpoint = {
        ...(head as Omit<GraphCheckpoint, "channel_values">),
        channel_values: Object.fromEntries(channels),
      };
      const checkpointConfig = (checkpoint_id: string): RunConfig => ({
        configurable: { thread_id: threadId, checkpoint_ns: namespace, checkpoint_id },
      });
      const { parent } = stored;
      if (checkpoint.v < 4 && parent !== undefined)
        await this.#migrateSends(session, checkpoint, namespace, parent);
      return {
        config: checkpointConfig(id),
        checkpoint,
        metadata,
        pendingWrites: await this.#writes(session, namespace, id),
        ...(parent === undefined ? {} : { parentConfig: checkpointConfig(parent) }),
      };
    }

    /** The writes of a checkpoint in the order in which a run applies them. */
    async #writes(session: Session, namespace: string, id: string): Promise<PendingWrite[]> {
      const index = await indexOf(session);
      const writes = await Promise.all(
        index
          .writes(namespace, id)
          .map(async (write) => ({ ...write, ...(await readWrite(session, write)) })),
      );
      writes.sort(
        (a, b) =>
          compareByCodePoint(a.path ?? "", b.path ?? "") ||
          compareByCodePoint(a.taskId, b.taskId) ||
          a.index - b.index,
      );
      const ids = writes.map(({ value }) => value);
      const loaded = await values.load(this.serde, session, ids);
      return writes.map(({ taskId, channel }, at): PendingWrite => [taskId, channel, loaded[at]]);
    }

    /** Before version 4 a checkpoint had the sends of its parent in a channel. */
    async #migrateSends(
      session: Session,
      checkpoint: GraphCheckpoint,
      namespace: string,
      parent: string,
    ): Promise<void> {
      const writes = await this.#writes(session, namespace, parent);
      const sends = writes.filter(([, channel]) => channel === TASKS);
      checkpoint.channel_versions ??= {};
      const versions = Object.values(checkpoint.channel_versions);
      checkpoint.channel_values[TASKS] = sends.map(([, , value]) => value);
      checkpoint.channel_versions[TASKS] =
        versions.length > 0 ? typed.maxChannelVersion(...versions) : this.getNextVersion(undefined);
    }
  }

  async function* threadIds(): AsyncGenerator<string, void, undefined> {
    for await (const { key } of handles.list(settings.partition)) yield key;
  }

  return new SessileCheckpointer(options.serde) as unknown as LanggraphCheckpointer<M>;
}

/** The entry of the key: the parent of checkpoints without a parent. */
async function sessionRoot(session: Session | undefined): Promise<string | undefined> {
  return (await session?.tree())?.children(null)[0]?.id;
}

function placeIn({ configurable }: RunConfig): CheckpointPlace {
  const { thread_id, checkpoint_ns = "" } = configurable ?? {};
  return { threadId: stringIn("thread_id", thread_id), namespace: stringIn("checkpoint_ns", checkpoint_ns) };
}

function stringIn(name: string, value: unknown): string {
  if (typeof value === "string") return value;
  throw new TypeError(`${name}: expected a string, got ${describe(value)}`);
}
