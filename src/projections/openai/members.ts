import { isRecord } from "../../internal/shape.js";

/** Required members, and the `typeof` of each. */
export type Members = Readonly<Record<string, "string" | "number" | "object">>;

/** Whether a value names a `type` of the table and has that type's members. Others may be there. */
export function hasMembers(value: unknown, byType: Readonly<Record<string, Members>>): boolean {
  if (!isRecord(value) || typeof value.type !== "string" || !Object.hasOwn(byType, value.type)) return false;
  const members = Object.entries(byType[value.type] ?? {});
  return members.every(([key, type]) => typeof value[key] === type && value[key] !== null);
}
