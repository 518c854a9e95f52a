import { type BlobStore, digest, type ImageBlock, type TextBlock } from "sessile";
import type { ExportSource, WriteSource } from "sessile/interop";
import { loadSession, writeSource } from "../../src/agents/export.js";
import { ReportBuilder } from "../../src/agents/report.js";
import { type WriteStep, writeSteps } from "../../src/agents/shared/write-steps.js";
import { plain } from "./plain-format.js";
import { all, shownSteps } from "./support/written-steps.js";

/** A word or the bytes of a medium in the context of a session, and the entry that has it. */
export interface Token {
  readonly entryId: string;
  readonly token: string;
  /** The index of the message, a reply with its results being one. */
  readonly step: number;
  /** A word of a file, which a format without files may have as text. */
  readonly optional?: true;
}

/**
 * The words of the form `w12w` and the media of a session's context, in the order in which an agent sees them:
 * results behind their calls.
 */
export async function tokensOf(
  session: ExportSource,
  blobs: Pick<BlobStore, "get"> | undefined,
): Promise<readonly Token[]> {
  const options = { to: plain, ...(blobs === undefined ? {} : { blobs: blobs as BlobStore }) };
  const source = writeSource(await loadSession(session), [], options, new ReportBuilder());
  const { compaction, shown } = await shownSteps(await all(writeSteps(source)));
  const tokens: Token[] = [];
  const push = (step: number, found: readonly Found[]) => {
    for (const each of found) tokens.push({ ...each, step });
  };
  if (compaction !== undefined) push(-1, wordsIn(compaction.entryId, compaction.summary));
  for (const [index, step] of shown.entries()) push(index, await stepTokens(source, step));
  return tokens;
}

type Found = Omit<Token, "step">;

async function stepTokens(source: WriteSource, step: WriteStep): Promise<readonly Found[]> {
  if (step.kind === "user") return blockTokens(source, step.entryId, step.content);
  if (step.kind !== "reply") return [];
  const tokens: Found[] = [];
  for (const block of step.message.content) {
    if (block.type === "text") tokens.push(...wordsIn(step.entryId, block.text));
    if (block.type === "thinking") tokens.push(...wordsIn(step.entryId, block.thinking));
    if (block.type === "toolCall") tokens.push(...wordsIn(step.entryId, JSON.stringify(block.arguments)));
  }
  // Formats have the media of a result behind its texts.
  for (const result of step.results)
    tokens.push(...(await blockTokens(source, result.entryId, result.content)));
  return tokens;
}

async function blockTokens(
  source: WriteSource,
  entryId: string,
  content: readonly (TextBlock | ImageBlock)[],
): Promise<readonly Found[]> {
  const tokens: Found[] = [];
  for (const block of content) {
    const media = await source.media(block, entryId);
    if (media !== undefined) {
      tokens.push({ entryId, token: digest(media.bytes) });
      const text = new TextDecoder().decode(media.bytes);
      tokens.push(...wordsIn(entryId, text).map((token) => ({ ...token, optional: true as const })));
    } else if (block.type === "text" && (block.resource ?? { kind: "link" }).kind === "link")
      tokens.push(...wordsIn(entryId, block.text));
  }
  return tokens;
}

function wordsIn(entryId: string, text: string | undefined): readonly Found[] {
  return Array.from(text?.matchAll(/w\d+w/g) ?? [], ([token]) => ({ entryId, token }));
}
