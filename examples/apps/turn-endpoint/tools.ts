import type Anthropic from "@anthropic-ai/sdk";
import { runViewTool, type ViewableSession, viewTool, viewToolName } from "sessile/attachments";
import type { BlobStore } from "sessile/blobs";
import type { ToolCall } from "sessile/content";
import type { EntryDraft, Session } from "sessile/session";
import { failedResult } from "../support/tools.js";

/** What a tool of a turn works with. */
export interface TurnToolPlaces {
  readonly session: Session;
  readonly blobs: Pick<BlobStore, "get">;
  readonly signal: AbortSignal;
}

/** Runs one call, and gives what is to be appended: its result last. */
export type TurnTool = (call: ToolCall, places: TurnToolPlaces) => Promise<readonly EntryDraft[]>;

/** Tools by name. */
export type TurnTools = ReadonlyMap<string, TurnTool>;

/** The one tool that a model needs if attachments are sent once: to view one again. */
export const viewingTools: TurnTools = new Map([[viewToolName, view]]);

/** The tools as a model is told of them. */
export const viewingToolDeclarations: readonly Anthropic.Tool[] = [viewTool("anthropic")];

async function view(
  call: ToolCall,
  { session, blobs, signal }: TurnToolPlaces,
): Promise<readonly EntryDraft[]> {
  const drafts: EntryDraft[] = [];
  // The view is written with the result in one append, and the page is told of both.
  const viewed: ViewableSession = {
    leafId: session.leafId,
    tree: session.tree,
    entry: (id) => session.entry(id),
    append: async (views) => void drafts.push(...views),
  };
  const message = await runViewTool(viewed, call, { blobs, signal });
  return [...drafts, { type: "message", message }];
}

/** Runs a call. What goes wrong is a result too: the model is to see it. */
export async function runTurnTool(
  tools: TurnTools,
  call: ToolCall,
  places: TurnToolPlaces,
): Promise<readonly EntryDraft[]> {
  try {
    const tool = tools.get(call.name);
    if (tool === undefined) throw new Error(`there is no tool ${call.name}`);
    return await tool(call, places);
  } catch (error) {
    places.signal.throwIfAborted();
    const text = error instanceof Error ? error.message : String(error);
    return [{ type: "message", message: failedResult(call, text) }];
  }
}
