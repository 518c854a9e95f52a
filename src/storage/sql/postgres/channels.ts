/** Notifications: which sessions of this process wait for one, on one connection per partition. */

import { sha256 } from "@noble/hashes/sha2.js";
import { encodeUtf8, toHex } from "../../../core/bytes.js";
import type { PostgresSessionsOptions } from "./options.js";

type Listen = NonNullable<PostgresSessionsOptions["listen"]>;

/** The channel of a partition: a digest, because names in PostgreSQL are short. */
export function schemaChannel(schema: string, partition: string): string {
  return `sessile_${toHex(sha256(encodeUtf8(`${schema}/${partition}`)).subarray(0, 16))}`;
}

/** The waiting logs of a partition, and the connection that listens for them. */
interface Channel {
  readonly logs: Map<string, Set<() => void>>;
  readonly stop: Promise<(() => Promise<void>) | undefined>;
}

/** The channels that a backend listens on: one for each partition with followed sessions. */
export class Channels {
  readonly #listen: Listen;
  readonly #schema: string;
  readonly #open = new Map<string, Channel>();

  constructor(listen: Listen, schema: string) {
    this.#listen = listen;
    this.#schema = schema;
  }

  /** Calls `heard` for each notification of a session, until the returned function is called. */
  subscribe(partition: string, id: string, heard: () => void): () => Promise<void> {
    const channel = this.#open.get(partition) ?? this.#begin(partition);
    const listeners = channel.logs.get(id) ?? new Set();
    channel.logs.set(id, listeners.add(heard));
    return async () => {
      listeners.delete(heard);
      if (listeners.size === 0 && channel.logs.get(id) === listeners) channel.logs.delete(id);
      if (channel.logs.size > 0) return;
      if (this.#open.get(partition) === channel) this.#open.delete(partition);
      await (await channel.stop)?.();
    };
  }

  #begin(partition: string): Channel {
    const logs: Channel["logs"] = new Map();
    const heard = (id: string) => {
      for (const listener of logs.get(id) ?? []) listener();
    };
    // Without a connection, readers poll; the next subscription tries again.
    const stop = this.#listen(schemaChannel(this.#schema, partition), heard).catch(() => {
      if (this.#open.get(partition) === channel) this.#open.delete(partition);
      return undefined;
    });
    const channel: Channel = { logs, stop };
    this.#open.set(partition, channel);
    return channel;
  }
}

/** Waits of one log for its next notification. Those between two waits are not lost. */
export class ChangeWaiter {
  readonly #subscribe: (heard: () => void) => () => Promise<void>;
  #stop: (() => Promise<void>) | undefined;
  #heard = false;
  #wake: (() => void) | undefined;

  constructor(subscribe: (heard: () => void) => () => Promise<void>) {
    this.#subscribe = subscribe;
  }

  /** Resolves after a notification since the last call, or when the signal aborts. */
  async changed(signal: AbortSignal): Promise<void> {
    this.#stop ??= this.#subscribe(() => {
      this.#heard = true;
      this.#wake?.();
    });
    if (!this.#heard && !signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
    }
    this.#heard = false;
  }

  async close(): Promise<void> {
    const stop = this.#stop;
    this.#stop = undefined;
    await stop?.();
  }
}
