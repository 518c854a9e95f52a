/** A copy of a body with other values at these paths, such as `messages[3].content`; undefined takes one out. */
export function changed(body: unknown, values: Readonly<Record<string, unknown>>): unknown {
  const copy: unknown = structuredClone(body);
  for (const [path, value] of Object.entries(values)) {
    const keys = path.split(/[.[\]]+/).filter((key) => key !== "");
    const last = keys.pop() ?? "";
    const holder = keys.reduce(step, copy);
    if (!isHolder(holder)) throw new RangeError(`${path}: nothing there to change`);
    if (value === undefined) delete holder[last];
    else holder[last] = value;
  }
  return copy;
}

function step(value: unknown, key: string): unknown {
  return isHolder(value) ? value[key] : undefined;
}

const isHolder = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;
