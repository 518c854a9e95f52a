/**
 * Where this library and pi 0.73.1 differ on purpose, each said in the words of a test's title. differences.test.ts has
 * a demonstration for each, which fails once the difference is gone.
 */
export const differences = {
  // Reading
  duplicateId: "two entries with one id: the first counts here, the last in pi",
  unknownLeaf: "a context at an id that is not there: an error here, the last entry's in pi",
  cycle: "parents that lead in a circle: an end and a diagnostic here, a walk without end in pi",
  unsafeKey: "a __proto__ key: left out with a diagnostic here, kept in pi",
  invalidFields: "a message without what its role needs: no message here, in context in pi",
  unknownBlock: "a block of a type that is not known: an opaque block here, as it is in pi",
  invalidTime: "a time that is none: 0 in a context here, NaN in pi",
  childOrder: "children of one parent: in file order here, by time in pi",
  emptyName: "a session_info with an empty name: an empty name here, none in pi",
  nameSpace: "white space at the ends of a name: kept here, trimmed by pi",
  noHeader: "a file without a header: an error and the file as it was here, emptied by pi",
  olderVersion:
    "opening a file of version 1 for reading: stable ids and the file as it was here, random ids and the file written anew by pi",
  // Entries that pi 0.73.1 does not know
  leafEntry:
    "a tip that was moved, and nothing after it: a leaf entry keeps it here, pi takes that entry for the tip",
  contextEdit: "context_edit: taken out or replaced in contexts here, as it was in pi",
  retain: "context_pin and what a compaction retains: in context here, not in pi",
  summaryDetails:
    "what a summary's entry says for programs: along with its message in contexts here, not in pi",
  systemOfCompaction: "a compaction's system message: in context here, not in pi",
  systemMessage: "a system message: sent to the model here, dropped by pi when it makes messages for one",
  usage: "usage: an entry type of its own here, which pi has no call to write",
  // Writing
  branchSummaryFrom: "branchWithSummary: fromId is the leaf that was left here, the target in pi",
  danglingReference: "a compaction that keeps from an id which is nowhere: refused here, written by pi",
  firstAssistant: "before the first assistant message: written at once here, kept in memory by pi",
  wholeFileAgain:
    "a file without an assistant message that pi opens: pi writes every line again with the first one, which reads here as one session",
  tornTail:
    "appending behind a torn line: ended where it lies here as in pi 1.5.2, joined with the new line by pi 0.73.1",
  twoWriters: "two handles on one file: the second writer is told here, pi forks the history",
  farInfo:
    "a name that lies far from the end of the file: written again when the session is closed here, so that a list finds it",
  // Copies and lists
  labelOnPath:
    "extracting a path with a label on it: what follows the label keeps its history here, loses it in pi",
  labelKept: "extracting a compaction that keeps from a label: keeps from the next entry here, nothing in pi",
  leafExtracted: "extracting a path with a leaf entry on it: left out here, kept by pi",
  forkTitle: 'a fork: named "(fork #N)" here, as its source in pi',
  listOrder: "a list: by the file's time of modification here, by the last message's in pi",
  listPreview: "the first message in a list: trimmed and at most 200 characters here, whole in pi",
  listProject: "two projects with one directory name: told apart by their cwd here, listed as one by pi",
} as const;

/** The name of a difference. */
export type DifferenceName = keyof typeof differences;
