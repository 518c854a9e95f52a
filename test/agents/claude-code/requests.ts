/** Requests of Claude Code beside projections of this library, in one form. */

import { type BlobStore, buildSessionContext, type Context, parseSession, project } from "sessile";
import { anthropicMessages } from "sessile/anthropic";
import type { ImportedSession } from "sessile/interop";
import { type ReducedMessage, reduceRequest } from "../support/reduced.js";

/** Texts that the agent adds to a request, and leaves out of a later one. */
const own = [/^<system-reminder>/, /^<local-command-caveat>/, /^Caveat: The messages below/];

/** A request with whole texts. */
export function reduced(body: unknown): readonly ReducedMessage[] {
  return reduceRequest(body, { without: own, maxText: 1e6 });
}

/** The request that this library makes of a context, or of an import. */
export async function projected(
  source: Promise<Context> | Pick<ImportedSession, "header" | "entries" | "leafId">,
  blobs: BlobStore,
): Promise<readonly ReducedMessage[]> {
  const context = "entries" in source ? contextFrom(source) : await source;
  const { model } = context;
  const replay = () => "full" as const;
  const isOwn = model?.provider === "anthropic";
  // What an imported reply answered is not known, so that its reasoning goes only if asked for.
  const reasoning = "current";
  const target = anthropicMessages({ model: isOwn ? model.modelId : "claude-opus-5-5", reasoning });
  const { value } = await project(context, target, { blobs, replay });
  return reduced(value);
}

function contextFrom({
  header,
  entries,
  leafId,
}: Pick<ImportedSession, "header" | "entries" | "leafId">): Context {
  const text = [header, ...entries].map((entry) => `${JSON.stringify(entry)}\n`).join("");
  return buildSessionContext(parseSession(text), leafId);
}

/**
 * Messages in one form: results in the order of their calls, texts of a user in a row joined, the frame of a
 * summary taken off. Blank texts and the labels of attachments, which a projection adds, are left out.
 */
export function comparable(messages: readonly ReducedMessage[]): readonly unknown[] {
  const calls = new Map<string, number>();
  const out: unknown[] = [];
  let results: { readonly result: string }[] = [];
  let text = "";
  const flush = () => {
    results.sort((a, b) => (calls.get(a.result) ?? 0) - (calls.get(b.result) ?? 0));
    out.push(...results);
    results = [];
    if (text !== "") out.push({ user: text });
    text = "";
  };
  for (const message of messages) {
    if (message.role === "tool") {
      const { result, images } = message;
      const said = message.text.replace(/\[image[^\]]*\]/g, "").trim();
      results.push({
        result,
        said,
        ...(images === undefined ? {} : { images }),
        isError: message.error === true,
      } as never);
    } else if (message.role === "user" && "text" in message) {
      const said = withoutFrame(message.text).trim();
      if (said !== "") text += (text === "" ? "" : "\n") + said;
    } else {
      flush();
      if ("call" in message) calls.set(message.call, calls.size);
      out.push(message);
    }
  }
  flush();
  // The agent says so itself if a message of a user is the last.
  const last = out.at(-1) as { readonly text?: string } | undefined;
  return last?.text === "No response requested." ? out.slice(0, -1) : out;
}

function withoutFrame(text: string): string {
  const framed = /<summary>\n([\s\S]*)\n<\/summary>/.exec(text)?.[1];
  return framed ?? text;
}
