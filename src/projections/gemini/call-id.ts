const prefix = "gemini_noid_";
const maxTagLength = 32;

/**
 * An id for a call that Gemini gave none, so that its result can name it: the same for the same response, and not sent back.
 *
 * @param tag what tells the response from others
 * @param index of the call in the response
 */
export function madeCallId(tag: string, index: number): string {
  const safe = tag.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, maxTagLength);
  return `${prefix}${safe}_${index}`;
}

/** Whether an id was made by {@link madeCallId}, or by pi, which takes the name, the time and a count: Gemini never had it. */
export function isMadeCallId(id: string, name: string): boolean {
  if (id.startsWith(prefix)) return true;
  return id.startsWith(`${name}_`) && /^\d{13}_\d+$/.test(id.slice(name.length + 1));
}
