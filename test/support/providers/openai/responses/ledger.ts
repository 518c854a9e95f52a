/** What the API knows of the responses that it gave. */
export interface ResponsesLedger {
  /** Ids of items that it stored. */
  readonly stored: ReadonlySet<string>;
  /** For an item's id the id of the reasoning that led to it, without which the item is not taken. */
  readonly reasoningOf: ReadonlyMap<string, string>;
  /** For the id of a reasoning item the encrypted content that it was given with. */
  readonly encrypted: ReadonlyMap<string, string>;
}

/** Of an API that gave none yet. */
export const emptyLedger: ResponsesLedger = {
  stored: new Set(),
  reasoningOf: new Map(),
  encrypted: new Map(),
};

/** A ledger to which responses can be added. */
export function responsesLedger() {
  const stored = new Set<string>();
  const reasoningOf = new Map<string, string>();
  const encrypted = new Map<string, string>();
  return {
    stored,
    reasoningOf,
    encrypted,
    /** Writes down the output of a response, whether it is stored or not. */
    add(output: readonly { readonly type: string; readonly id?: string }[], isStored: boolean): void {
      let reasoning: string | undefined;
      for (const item of output) {
        if (item.id === undefined) continue;
        if (isStored) stored.add(item.id);
        if (item.type === "reasoning") {
          reasoning = item.id;
          if ("encrypted_content" in item && typeof item.encrypted_content === "string") {
            encrypted.set(item.id, item.encrypted_content);
          }
        } else if (reasoning !== undefined) reasoningOf.set(item.id, reasoning);
      }
    },
  } satisfies ResponsesLedger & { add: unknown };
}
