/** A log: lines to entries and back. Users see the types of entries through `sessile`. */

export {
  cleanLine,
  type DecodeContext,
  type DecodedBody,
  type DecodedLine,
  decodeBody,
  decodeHeads,
  decodeLine,
  decodeParts,
  decodeUsualHeader,
  entryKeyOfPart,
  headerVersion,
  isNewer,
  isUsualEntry,
  LineDecoder,
  type LinePart,
  parseUsualLine,
  shortLineDamage,
  stripBom,
  type UsualLines,
} from "./decode.js";
export {
  BothEnds,
  type Diagnostic,
  type DiagnosticCode,
  DiagnosticList,
  type Diagnostics,
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
} from "./diagnostics.js";
export {
  assertValidEntry,
  type EncodeOptions,
  encodeEntry,
  encodeHeader,
  encodeLine,
  encodePlaced,
  encodeValidEntry,
  encodeValidLine,
  invalidEntry,
  printHeader,
  printPlaced,
  spliceJson,
} from "./encode.js";
export {
  type CustomEntryType,
  customEntry,
  type DerivedEntry,
  type EntryDraft,
  type EntryMap,
  type EntryType,
  type Erasure,
  entryErasure,
  extensionVersion,
  type FileDiff,
  formatVersion,
  ownEntry,
  type PermissionRule,
  type SessionEntry,
  type SessionHeader,
  type SessionInfoFields,
  type SessionInfoPatch,
  type SessionStats,
  type UnknownEntry,
} from "./entries.js";
export {
  type EntryHead,
  type EntryKey,
  EntryPrefix,
  parseEntryPrefix,
  parseTimestamp,
  printTimestamp,
  toEntryId,
  toEntryKey,
} from "./entry-prefix.js";
export {
  entryTypesWith,
  isEntryType,
  isStructural,
  kindsInContext,
  references,
  referencingTypes,
} from "./entry-types.js";
export { type LineRange, nextParentKey, ParentKeyFinder, withoutStrayBytes } from "./joined-lines.js";
export {
  appendChecksum,
  copyWithoutUnsafeKeys,
  findChecksum,
  parseLine,
  removeChecksum,
  unsafeKeyMessage,
} from "./line-json.js";
export { defaultLimits, type LineSink, LineSplitter, type ReadLimits } from "./line-splitter.js";
export { idToOrdinal, migrateLine } from "./migrate.js";
export {
  bareFields,
  isCall,
  isFrameworkState,
  memberAt,
  type OwnCustomType,
  type Relation,
  readOwnership,
  restOfValue,
  type Source,
  stringsIn,
  valueDetails,
} from "./ownership.js";
export { hidesLetters, isWordAt, type LineTest, lineTest, rarestPart } from "./search-scan.js";
export { candidateTerms, searchTermsOfLine, searchTexts, searchTextsOfMessage } from "./search-terms.js";
export {
  foldCase,
  isLow,
  matchTexts,
  parseQuery,
  queryProblem,
  type SearchPhrase,
  type TextMatch,
} from "./search-words.js";
export { type ErasedPart, erasureOfLine, hasText, tombstoneLine } from "./tombstone.js";
export {
  entryProblem,
  isUsualMessage,
  jsonProblem,
  messageProblem,
  normalizeContent,
  unplacedProblem,
  unsafeKeyExpected,
} from "./validate.js";
