import { estimateTextTokens } from "../estimate/index.js";
import { type CoveredResource, resourceNotes, withoutResourceNotes } from "./covered.js";
import { type FileLedger, ledgerText, stripLedgerText } from "./file-ledger/index.js";

/** The blocks that close a summary: attachments that it covers, and files. */
export interface Closing {
  readonly resources: readonly CoveredResource[];
  readonly files: FileLedger;
}

/** A summary as it is stored: what the model said, and the blocks that close it. */
export function withFooter(text: string, closing: string): string {
  return text === "" ? closing.trimStart() : text + closing;
}

/**
 * The blocks that close a summary, in at most `room` tokens: where they are longer, half as many are listed, and half of that,
 * the latest; each block says how many it leaves out. The compaction's details have all of them.
 */
export function footerText({ resources, files }: Closing, room: number): string {
  for (let most = mostListed; ; most = Math.floor(most / 2)) {
    const notes = resourceNotes(resources, { maxResources: most });
    const text = (notes === "" ? "" : `\n\n${notes}`) + ledgerText(files, { maxFiles: most });
    if (estimateTextTokens(text) <= room) return text;
    if (most === 0) return "";
  }
}

/** How many attachments, files that were read and files that were changed are listed. */
const mostListed = 100;

/** A summary without the blocks that close it: they are made anew, and a model that updates it is not to copy them. */
export function withoutFooter(summary: string): string {
  return withoutResourceNotes(stripLedgerText(summary));
}
