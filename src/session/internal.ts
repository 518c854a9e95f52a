/** The parts of this module that other modules of the library use, and that its users do not see. */

export type { Durability } from "./api/backend.js";
export {
  BothEnds,
  extraHeader,
  isTerminatedTornLine,
  type LineDiagnostic,
  linesBeforeHeader,
  lineTooLong,
  missingHeaderError,
  newerVersion,
  tornLine,
  tornLineTerminator,
  tornTail,
} from "./api/diagnostics.js";
export { erasureOf, extensionVersion, formatVersion, ownEntry } from "./api/entries.js";
export { applyUpdates, updatesOf } from "./context/context-items.js";
export {
  cleanLine,
  decodeHeads,
  decodeLine,
  decodeParts,
  decodeUsualHeader,
  entryKeyOfPart,
  headerVersion,
  isNewer,
  LineDecoder,
  type LinePart,
  shortLineDamage,
  stripBom,
} from "./format/decode.js";
export { encodeValidLine } from "./format/encode.js";
export { entryIdOf } from "./format/entry-prefix.js";
export { entryTypesWith } from "./format/entry-types.js";
export { type LineRange, withoutStrayBytes } from "./format/joined-lines.js";
export { appendChecksum, parseLine } from "./format/line-json.js";
export { defaultLimits, type LineSink, LineSplitter } from "./format/line-splitter.js";
export { idToOrdinal, migrateLine } from "./format/migrate.js";
export type { OwnCustomType } from "./format/ownership.js";
export { hidesLetters, isWordAt, rarestPart } from "./format/search-scan.js";
export { searchTermsOfLine } from "./format/search-terms.js";
export { foldCase, matchTexts, parseQuery, queryProblem } from "./format/search-words.js";
export { erasureOfLine } from "./format/tombstone.js";
export { entryProblem, jsonProblem } from "./format/validate.js";
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
export { previewOf } from "./store/preview.js";
export { clockSlack, type SearchBackend, searchSessions } from "./store/search.js";
export { openLog } from "./store/store.js";
export { type LineSummary, summarizeLines } from "./store/summarize-lines.js";
export { type DamagedBytes, type EntryPlace, infoFieldsOf, LogReader } from "./tree/log-reader.js";
export { type EntryTable, entryTableOf, noRow, parseKind } from "./tree/session-tree.js";
