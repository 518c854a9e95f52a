/** The one table of how writers treat each entry type. A new type without a row does not compile. */

import type { EntryType } from "../../session/index.js";

/**
 * - `message`: an item of contexts.
 * - `setting`: written if the format has it.
 * - `edit`: carried out on the messages of the path.
 * - `unmapped`: no format has a counterpart; the report counts it.
 */
export type EntryRole = "message" | "compaction" | "setting" | "edit" | "leaf" | "custom" | "unmapped";

export const entryRoles: Readonly<Record<EntryType, EntryRole>> = {
  message: "message",
  custom_message: "message",
  branch_summary: "message",
  compaction: "compaction",
  model_change: "setting",
  thinking_level_change: "setting",
  session_info: "setting",
  context_edit: "edit",
  message_update: "edit",
  part_update: "edit",
  leaf: "leaf",
  custom: "custom",
  label: "unmapped",
  context_pin: "unmapped",
  resource_view: "unmapped",
  resource_observation: "unmapped",
  usage: "unmapped",
  revert: "unmapped",
};
