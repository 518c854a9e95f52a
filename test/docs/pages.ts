import type { GuidePage } from "../support/guide-page.js";

/** The surroundings of each page's program, by the name of its file. */
export const pages: Readonly<Record<string, GuidePage>> = {
  "crash-and-recovery.md": {},
  "custom-backend.md": {},
  "custom-target.md": {},
  "two-writers.md": {},
};
