import { type CoveredResource, resourceNotes, withoutResourceNotes } from "./covered.js";
import { type FileLedger, ledgerText, stripLedgerText } from "./ledger/index.js";

/** A summary as it is stored: what the model said, and the blocks of resources and of files that close it. */
export function closed(text: string, resources: readonly CoveredResource[], files: FileLedger): string {
  const noted = [text, resourceNotes(resources)].filter((part) => part !== "").join("\n\n");
  return noted + ledgerText(files);
}

/** A summary without the blocks that close it: they are made anew, and a model that updates it is not to copy them. */
export function withoutClosing(summary: string): string {
  return withoutResourceNotes(stripLedgerText(summary));
}
