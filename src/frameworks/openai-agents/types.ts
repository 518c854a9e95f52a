/** Structural types of OpenAI Agents for the session. A test compares them with the official ones. */

/** Replaces a call in the history; further items of the same call are removed. */
export interface HistoryMutation<Item> {
  readonly type: "replace_function_call";
  readonly callId: string;
  readonly replacement: Extract<Item, { type: "function_call" }>;
}

/** A change of the history that is made once, however often it is tried. */
export type HistoryTransaction<Item> =
  | { readonly type: "append_items"; readonly items: Item[] }
  | { readonly type: "replace_suffix"; readonly expectedSuffix: Item[]; readonly replacement: Item[] };

/** A session of OpenAI Agents, for `run(agent, input, { session })`. */
export interface OpenAiAgentsSession<Item> {
  /** The `sessionId` of the options. */
  getSessionId(): Promise<string>;
  /**
   * The items, oldest first, as new objects; with a limit the newest ones.
   * @throws SessileError BLOB_CORRUPT, ENTRY_NOT_FOUND if an item is damaged
   */
  getItems(limit?: number): Promise<Item[]>;
  /**
   * Appends copies of the items, all or none.
   * @throws SessileError INVALID_ENTRY naming the member that cannot be stored; nothing was written
   */
  addItems(items: Item[]): Promise<void>;
  /** Removes the newest item from the history, and returns it. It stays in the log. */
  popItem(): Promise<Item | undefined>;
  /** Begins an empty history. Earlier items stay in the log; `sessions.delete` erases them. */
  clearSession(): Promise<void>;
  /** Clears the history and adds items, in one append. */
  replaceHistoryWithCompaction(items: Item[]): Promise<void>;
  /** Replaces items, on a branch that begins before the first one that changes. */
  applyHistoryMutations(args: { readonly mutations: HistoryMutation<Item>[] }): Promise<void>;
  /**
   * Makes a change once: another call with the same id and transaction does nothing.
   * @throws SessileError INVALID_ENTRY for arguments that cannot be stored; DUPLICATE_ID if the id belongs to
   *   another transaction; CONCURRENT_WRITER if the history does not end with the expected items. Nothing was
   *   written
   */
  applyHistoryTransaction(args: {
    readonly operationId: string;
    readonly transaction: HistoryTransaction<Item>;
  }): Promise<void>;
  /** Releases the open session. A later call opens it again. */
  close(): Promise<void>;
}
