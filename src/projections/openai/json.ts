/** The value of a JSON text; undefined where it is none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The arguments of a call as a value: as text, where they are no JSON. */
export function argumentsOf(text: string): unknown {
  return text.trim() === "" ? {} : (parsed(text) ?? text);
}

/** The text of a call's arguments, where it is not how this library would write them; undefined where it is. */
export function rawArguments(text: string): string | undefined {
  return JSON.stringify(parsed(text)) === text ? undefined : text;
}

/** A call's arguments as JSON: as the model wrote them, where that is known and they are still the same. */
export function argumentsText(value: unknown, raw: string | undefined): string {
  const json = JSON.stringify(value) ?? "{}";
  return raw !== undefined && JSON.stringify(parsed(raw)) === json ? raw : json;
}
