/** Limits of Chirality's attachments. */

import type { LimitProfile } from "../profile.js";

/** The limits of attachments of one turn, in bytes. The only copy of these numbers. */
export const chiralityLimits = {
  /** Bytes of a file; this many is allowed. */
  maxFileBytes: 10_485_760,
  /** Bytes of all files of a turn; this many is allowed. */
  maxTurnBytes: 18_874_368,
  fileTypes: [
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "application/pdf",
    "text/plain",
    "text/markdown",
    "text/csv",
  ],
} as const;

/** Attachments by path; a turn is a message. The types are those of its nine extensions (jpg is jpeg). */
export const chirality: LimitProfile = /* @__PURE__ */ (() => {
  const seed = {
    evidence: "documented",
    asOf: "2026-11-21",
    source: "docs/requirements.md R163, R165, R166",
  } as const;
  return {
    name: "chirality",
    transports: ["turn"],
    rows: [
      { rule: "fileTypes", value: chiralityLimits.fileTypes, unit: "mediaType", scope: "item", ...seed },
      {
        rule: "fileBytes",
        value: chiralityLimits.maxFileBytes,
        unit: "decodedBytes",
        scope: "item",
        ...seed,
      },
      {
        rule: "fileBytes",
        value: chiralityLimits.maxTurnBytes,
        unit: "decodedBytes",
        scope: "message",
        ...seed,
      },
    ],
  };
})();
