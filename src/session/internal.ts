/** The parts of this module that other modules of the library use, and that its users do not see. */

export type { Durability } from "./api/backend.js";
export { applyUpdates, entryUpdates } from "./context/context-items.js";
export { eachLine, headerLine, withLineFeed } from "./runtime/log-lines.js";
export { type PathStep, recentBounds, takeRecent } from "./runtime/recent.js";
export { interruptedWords } from "./runtime/reply-log.js";
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
export { type EntryErasure, planErasure } from "./store/erase-plan.js";
export { clockErrorMs, lastInfo, maxHeadLines, partPreview, summarizeLines } from "./store/list.js";
export { clockSlack, type SearchBackend, searchSessions } from "./store/search.js";
export { openLog } from "./store/store.js";
export { type DamagedBytes, type EntryPlace, entryInfoFields, LogReader } from "./tree/log-reader.js";
export { type EntryTable, noRow, parseKind, treeRows } from "./tree/session-tree.js";
