/**
 * Where compaction here and in pi 0.73.1 differ on purpose, each said in the words of a test's title, as in
 * differences.ts. compaction-differences.test.ts has a demonstration for each. Where pi 1.5.2 is known to do as this
 * library does, the title says so.
 */
export const compactionDifferences = {
  // Counting
  userImage: "an image of a user's: 1,200 tokens here as in pi 1.5.2, nothing in pi 0.73.1",
  zeroUsage: "a usage of zero: all is estimated here as in pi 1.5.2, and is zero in pi 0.73.1",
  staleUsage:
    "a usage from before the latest compaction: estimated again here as in pi 1.5.2, counted by pi 0.73.1",
  editedUsage:
    "a usage from before a context edit: estimated again here as in pi 1.5.2, counted by pi 0.73.1, which knows no edits",
  hiddenCommand: "a command that no model is to see: nothing here, counted by pi",
  // Where to cut
  fallback:
    "results alone that are more than is to be kept: cut at the last message that may begin a context here as in pi 1.5.2, at the first in pi 0.73.1",
  asidesCount: "custom messages and branch summaries: count towards what is kept here, not in pi's walk",
  asideBeforeCut:
    "a custom message or a branch summary right before the cut: the beginning of a turn that is split here, kept by pi",
  emptyBranchSummary: "an empty branch summary: in no context here, the beginning of one in pi",
  storedCustom: "a message entry with the role custom: begins a turn here, but not in pi",
  // Whether a turn is split
  turnAtCut:
    "a command, a custom message or a branch summary at the cut: no turn is split here, one in pi of which nothing is summarised",
  settingBeforeTurn:
    "a settings entry before the user's message at the cut: no turn is split here, the one before as a whole in pi",
  // What is summarised
  nothingToSummarise: "nothing to summarise: no plan here as in pi 1.5.2, a summary of nothing in pi 0.73.1",
  afterCompaction:
    "the last entry is a compaction that kept more than is to be kept now: a plan here, none in pi",
  splitFirstTurn:
    'a turn that is split right behind an earlier summary: the summary stays here, pi has "No prior history." in its place',
  edited: "what a context edit replaced: summarised as it is now here, as it was in pi",
  modelSwitch: "a message that tells of a switch of models: in no summary here, summarised by pi",
  ledgerBlocks:
    "the file lists that close an earlier summary: taken off before it is updated here, shown to the model by pi",
  // What is kept
  pinned: "a pinned message: stays here, goes in pi",
  newestUser: "the newest message of the user before the cut: stays here, goes in pi",
  pairs: "a call whose result comes behind a command: stays with its result here, parted from it by pi",
  // Files
  failedCall: "a call that failed: changed nothing here, a modified file in pi",
  spelledPath: "two spellings of a path: one file here, two in pi",
  otherTool: "tools by other names and arguments: read here, not in pi",
  hookFiles: "the files of a compaction that an extension made: carried on here, dropped by pi",
  branchFiles: "the files of a branch summary: carried on here, dropped by pi",
} as const;

/** The name of a difference. */
export type CompactionDifferenceName = keyof typeof compactionDifferences;
