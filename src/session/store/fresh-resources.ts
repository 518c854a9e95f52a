import { randomHex8 } from "../../internal/ids.js";
import { isRecord } from "../../internal/shape.js";
import type { SessionEntry } from "../api/entries.js";

const resourceId = /\bres_[0-9a-f]{16}\b/g;
const isResourceId = /^res_[0-9a-f]{16}$/;

/** New ids for the resources of a copy: each differs from the source's, and is the same all over the copy. */
export class FreshResources {
  readonly #fresh = new Map<string, string>();

  /** Takes note of the resources that an entry has or names as such. A text that looks like an id is none. */
  note(entry: SessionEntry): void {
    const found = (value: unknown): void => {
      if (Array.isArray(value)) value.forEach(found);
      if (!isRecord(value)) return;
      const { resourceId: id } = value;
      if (typeof id === "string" && isResourceId.test(id) && !this.#fresh.has(id))
        this.#fresh.set(id, `res_${randomHex8()}${randomHex8()}`);
      Object.values(value).forEach(found);
    };
    found(entry);
  }

  /** The entry with the new ids wherever the old ones stood; the very same if none did. */
  rewrite<E extends SessionEntry>(entry: E): E {
    return this.#fresh.size === 0 ? entry : (this.#replaced(entry) as E);
  }

  #replaced(value: unknown): unknown {
    if (typeof value === "string") return this.#text(value);
    if (Array.isArray(value)) {
      const items = value.map((item) => this.#replaced(item));
      return items.some((item, at) => item !== value[at]) ? items : value;
    }
    if (!isRecord(value) || isSigned(value)) return value;
    let changed = false;
    const members = Object.entries(value).map(([key, member]) => {
      const now = [this.#text(key), this.#replaced(member)] as const;
      if (now[0] !== key || now[1] !== member) changed = true;
      return now;
    });
    return changed ? Object.fromEntries(members) : value;
  }

  #text(text: string): string {
    if (!text.includes("res_")) return text;
    return text.replace(resourceId, (id) => this.#fresh.get(id) ?? id);
  }
}

/** What a provider signed, or nobody here understands, goes back as it came. */
function isSigned({ type, thinkingSignature, textSignature }: Readonly<Record<string, unknown>>): boolean {
  return type === "opaque" || typeof thinkingSignature === "string" || typeof textSignature === "string";
}
