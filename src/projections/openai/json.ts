/** The value of a JSON text; undefined if it is invalid. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The arguments of a call as a value; text that is no JSON stays text. */
export function argumentsOf(text: string): unknown {
  return text.trim() === "" ? {} : (parsed(text) ?? text);
}

/** The text of a call's arguments if this library would print them differently, else undefined. */
export function rawArguments(text: string): string | undefined {
  return JSON.stringify(parsed(text)) === text ? undefined : text;
}

/** A call's arguments as JSON: the model's own text, if it is known and the value is unchanged. */
export function argumentsText(value: unknown, raw: string | undefined): string {
  const json = JSON.stringify(value) ?? "{}";
  return raw !== undefined && JSON.stringify(parsed(raw)) === json ? raw : json;
}
