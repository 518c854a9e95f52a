/** Structural types of LangGraph for the checkpointer. A test compares them with the official ones. */

/** Converts values of channels to bytes and back. */
export interface Serializer {
  /** The bytes of a value, and the name of their format. */
  dumpsTyped(data: unknown): Promise<[string, Uint8Array]>;
  /** The value of bytes in a format. */
  loadsTyped(type: string, data: Uint8Array | string): Promise<unknown>;
}

/**
 * The parts of `@langchain/langgraph-checkpoint` that are needed. Pass the module, so that there is one copy
 * of its classes.
 */
export interface CheckpointModule {
  readonly BaseCheckpointSaver: abstract new (serde?: never) => object;
  readonly WRITES_IDX_MAP: Readonly<Record<string, number>>;
  readonly TASKS: string;
  /** A copy of a checkpoint. */
  copyCheckpoint(checkpoint: never): unknown;
  /** The latest of some versions. */
  maxChannelVersion(...versions: never[]): unknown;
  /** The id of the checkpoint that a config names. */
  getCheckpointId(config: never): string;
}

/** A config of a run, of which `configurable` names the checkpoint. */
export interface RunConfig {
  readonly configurable?: Readonly<Record<string, unknown>>;
}

/** A checkpoint of LangGraph. */
export interface GraphCheckpoint {
  v: number;
  id: string;
  ts: string;
  channel_values: Record<string, unknown>;
  channel_versions: Record<string, number | string>;
  versions_seen: Record<string, Record<string, number | string>>;
}

/** A write of a task: the task, the channel, the value. */
export type PendingWrite = [taskId: string, channel: string, value: unknown];

/** A checkpoint with its config, metadata, parent and writes. */
export interface CheckpointTuple {
  readonly config: RunConfig;
  readonly checkpoint: GraphCheckpoint;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly pendingWrites: PendingWrite[];
  parentConfig?: RunConfig;
}

/** Options of a list. */
export interface CheckpointQuery {
  readonly limit?: number;
  readonly before?: RunConfig;
  readonly filter?: Readonly<Record<string, unknown>>;
}

/** The members of the base class that the checkpointer uses. */
export interface BaseSaver {
  serde: Serializer;
  getNextVersion(current: undefined): number | string;
}

/** {@link CheckpointModule} with the types that its functions really have. */
export interface TypedModule {
  readonly BaseCheckpointSaver: abstract new (serde?: Serializer) => BaseSaver;
  readonly WRITES_IDX_MAP: Readonly<Record<string, number>>;
  readonly TASKS: string;
  copyCheckpoint(checkpoint: GraphCheckpoint): GraphCheckpoint;
  maxChannelVersion(...versions: (number | string)[]): number | string;
  getCheckpointId(config: RunConfig): string;
}
