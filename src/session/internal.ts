/** The parts of this module that other modules of the library use, and that its users do not see. */

export { isTerminatedTornLine, missingHeaderError, tornLineTerminator } from "./api/diagnostics.js";
export { erasureOf, formatVersion, ownEntry } from "./api/entries.js";
export { applyUpdates, updatesOf } from "./context/context-items.js";
export { decodeHeads, decodeLine, decodeParts, isNewer, shortLineDamage, stripBom } from "./format/decode.js";
export { encodeValidLine } from "./format/encode.js";
export { entryTypesWith } from "./format/entry-types.js";
export { type LineRange, withoutStrayBytes } from "./format/joined-lines.js";
export { parseLine } from "./format/line-json.js";
export { defaultLimits, LineSplitter } from "./format/line-splitter.js";
export { headerVersion } from "./format/migrate.js";
export type { OwnCustomType } from "./format/ownership.js";
export { hidesLetters, isWordAt, rarestPart } from "./format/search-scan.js";
export { searchTermsOfLine } from "./format/search-terms.js";
export { foldCase, parseQuery, queryProblem } from "./format/search-words.js";
export { erasureOfLine } from "./format/tombstone.js";
export { entryProblem, jsonProblem } from "./format/validate.js";
export { eachLine, withLineFeed } from "./runtime/log-lines.js";
export { type PathStep, recentBounds, takeRecent } from "./runtime/recent.js";
export { readSlice } from "./runtime/session.js";
export { blobRefsInLine } from "./store/blob-roots.js";
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
export { clockErrorMs } from "./store/list.js";
export { previewOf } from "./store/preview.js";
export { clockSlack, type SearchBackend, type Searched, searchSessions } from "./store/search.js";
export { openLog } from "./store/store.js";
export { type LineSummary, summarizeLines } from "./store/summarize-lines.js";
export { type EntryTable, noRow } from "./tree/entry-table.js";
export { infoFieldsOf, LogReader } from "./tree/log-reader.js";
export { entryTableOf } from "./tree/session-tree.js";
