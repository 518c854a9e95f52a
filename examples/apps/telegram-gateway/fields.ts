/** An object from outside: every field is still to be looked at. */
export type Fields = Readonly<Record<string, unknown>>;

export function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}

export function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** An integer, and 0 for -0, which JSON has too. Ids have at most 52 significant bits: https://core.telegram.org/bots/api#chat, read 2026-11-22. */
export function integerOf(value: unknown): number | undefined {
  return Number.isSafeInteger(value) ? (value as number) || 0 : undefined;
}
