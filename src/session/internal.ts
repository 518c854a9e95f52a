/** The parts of this module that other modules of the library use, and that its users do not see. */

export type { Durability } from "./api/backend.js";
export { applyUpdates, entryUpdates } from "./context/context-items.js";
export { eachLine, headerLine, withLineFeed } from "./runtime/log-lines.js";
export { type PathStep, recentBounds, takeRecent } from "./runtime/recent.js";
export { readSlice } from "./runtime/session.js";
export { blobRefsInLine } from "./store/blob-roots.js";
export { withParent } from "./store/copy.js";
export {
  checkBatchBytes,
  cwdKey,
  DatabaseLog,
  type DatabaseSession,
  existsError,
  indexedTerms,
  maxBatchBytes,
  termKey,
  unreadLine,
} from "./store/database-log.js";
export type { EntryErasure } from "./store/erase-links.js";
export { planErasure } from "./store/erase-plan.js";
export { clockErrorMs, lastInfo, maxHeadLines } from "./store/list.js";
export { partPreview } from "./store/preview.js";
export { clockSlack, type SearchBackend, searchSessions } from "./store/search.js";
export { openLog } from "./store/store.js";
export { summarizeLines } from "./store/summarize-lines.js";
export { type DamagedBytes, type EntryPlace, entryInfoFields, LogReader } from "./tree/log-reader.js";
export { type EntryTable, noRow, parseKind, treeRows } from "./tree/session-tree.js";
