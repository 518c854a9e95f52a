/** Requests of Gemini CLI and of this library in one form. */

import { type BlobStore, type Context, project } from "sessile";
import { geminiContents } from "sessile/gemini";
import type { ImportedSession } from "sessile/interop";
import { type ReducedMessage, reduceRequest } from "../support/reduced.js";
import { contextFrom } from "./chat-log.js";

/** What differs between the requests of the agent and those of this library, and is no content. */
export interface Differences {
  /** Reasoning is sent again as text by 0.39, and by none of the others. */
  readonly reasoning?: boolean;
}

/**
 * The messages of a request without the agent's own prompt, ids of calls, descriptors of attachments, and what
 * either puts around a summary. Images of results stand behind all results of their turn.
 */
export function comparable(body: unknown, { reasoning = false }: Differences = {}): readonly unknown[] {
  const without = [
    /^\s*<(?:session|hook)_context>/,
    /^This is the Gemini CLI/,
    /^\[(?:image|file|link)[ ,]/,
    /^\[The previous response was interrupted before it completed\.\]$/,
  ];
  const rows = reduceRequest(body, { without, maxText: 4000 });
  return mediaBehind(rows).flatMap((row: ReducedMessage): readonly unknown[] => {
    if ("reasoning" in row) return reasoning ? [row] : [];
    if ("call" in row) return [{ call: row.name, arguments: row.arguments }];
    if ("result" in row) return [{ result: textOf(row.text), ...("error" in row ? { error: true } : {}) }];
    return "text" in row ? [{ ...row, text: textOf(row.text) }] : [row];
  });
}

/** The rows with the images of results behind all results of the turn. */
function mediaBehind(rows: readonly ReducedMessage[]): readonly ReducedMessage[] {
  const out: ReducedMessage[] = [];
  let images: ReducedMessage[] = [];
  for (const row of rows) {
    if ("image" in row && (images.length > 0 || "result" in (out.at(-1) ?? {}))) images.push(row);
    else {
      if (!("result" in row)) {
        out.push(...images);
        images = [];
      }
      out.push(row);
    }
  }
  return [...out, ...images];
}

function textOf(text: string): string {
  const summary = /(?:<summary>|<state_snapshot>)\n([\s\S]*)\n<\/(?:summary|state_snapshot)>$/.exec(text);
  if (summary !== null) return summary[1] ?? "";
  return text.replace(/^\u200b/, "").replace(/(?:^|\n)\[(?:image|file|link)[ ,].*/g, "");
}

/** The rows of each kind by themselves: where a reply has a text between calls, results come between. */
export function byKind(rows: readonly unknown[]): Readonly<Record<string, readonly unknown[]>> {
  const kinds: Record<string, unknown[]> = { call: [], result: [], image: [], text: [] };
  for (const row of rows) {
    for (const [kind, list] of Object.entries(kinds)) {
      if (!(kind in (row as object))) continue;
      list.push(row);
      break;
    }
  }
  return kinds;
}

/** The request that this library makes of a context, and a last message. */
export async function projectionOf(
  context: Context,
  { blobs, last }: { readonly blobs: Pick<BlobStore, "get">; readonly last?: string },
): Promise<unknown> {
  const message = { role: "user", content: last ?? "", timestamp: 0 } as const;
  const more = last === undefined ? [] : [{ entryId: "last", origin: "message", message } as const];
  const { value } = await project(
    { ...context, items: [...context.items, ...more] },
    geminiContents({ model: "gemini-2.5-pro" }),
    { blobs, replay: () => "full" },
  );
  return value;
}

export async function projectionOfImport(
  imported: ImportedSession,
  options: { readonly blobs: Pick<BlobStore, "get">; readonly last?: string },
): Promise<unknown> {
  return projectionOf(contextFrom(imported), options);
}

export type Rows = readonly unknown[];

/** Function responses that the agent has written twice, once. */
export function onceOf(rows: Rows): Rows {
  const seen = new Set<string>();
  return rows.filter((row) => {
    const key = JSON.stringify(row);
    const isRepeated = seen.has(key);
    if ("text" in (row as object) || "call" in (row as object)) seen.clear();
    else seen.add(key);
    return !isRepeated;
  });
}

/** Rows of the user as version 0.26 sends them: the parts of a message are one text, with words for images. */
export function inWords(rows: Rows): Rows {
  const out: unknown[] = [];
  let isResult = false;
  for (const row of rows as readonly { role?: string; text?: string; image?: string }[]) {
    const last = out.at(-1) as { role?: string; text?: string } | undefined;
    if ("image" in row && !isResult) {
      if (last?.role === "user" && last.text !== undefined)
        out[out.length - 1] = { ...last, text: `${last.text}<image/png>` };
      else out.push({ role: "user", text: "<image/png>" });
      continue;
    }
    isResult = "result" in row || ("image" in row && isResult);
    out.push(row);
  }
  return out;
}

/** The bytes of a written chat but for the time of writing. */
export function asWritten(bytes: Uint8Array | undefined): Uint8Array {
  const text = new TextDecoder().decode(bytes).replace(/"lastUpdated":"[^"]*"/g, '"lastUpdated":"now"');
  return new TextEncoder().encode(text);
}
