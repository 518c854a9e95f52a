import { isResource } from "../../content/index.js";
import { describe } from "../../internal/arguments.js";
import { contentRules } from "../../internal/message-shapes.js";
import { isRecord } from "../../internal/shape.js";

/**
 * Normalises the unknown parts of a stored message, so that one new block of another writer does not cost the
 * message. An unknown block becomes an opaque block in an assistant message, elsewhere a text block that
 * names its type. Absent content becomes empty. A text block with an unknown kind of resource, or hash
 * algorithm, keeps its text alone. Returns the same object if nothing changes.
 */
export function knownMessage(message: unknown): unknown {
  if (!isRecord(message)) return message;
  const role = message.role === "hookMessage" ? "custom" : message.role;
  const content = knownContent(role, message.content);
  return role === message.role && content === message.content ? message : { ...message, role, content };
}

/** Normalises the content of a role, as a context edit carries it. */
export function knownContent(role: unknown, content: unknown): unknown {
  const rule = contentRules.get(role);
  if (rule === undefined) return content;
  const { blocks, takesText } = rule;
  if (content === undefined || content === null) return role === "system" ? "" : [];
  if (typeof content === "string") return takesText ? content : [{ type: "text", text: content }];
  if (!Array.isArray(content) || content.every((block) => !isRecord(block) || isKnown(block, blocks))) {
    return content;
  }
  return content.map((block: unknown) => {
    if (!isRecord(block) || isKnown(block, blocks)) return block;
    if (block.type === "text") {
      const { resource: _resource, ...rest } = block;
      return rest;
    }
    if (role === "assistant") return { type: "opaque", data: block };
    const type = typeof block.type === "string" ? block.type.slice(0, 40) : describe(block.type);
    return { type: "text", text: `[${type} block that this version cannot read]` };
  });
}

function isKnown(block: Readonly<Record<string, unknown>>, known: ReadonlySet<string>): boolean {
  if (!known.has(block.type as string)) return false;
  return block.resource === undefined || block.type !== "text" || !isForeign(block.resource);
}

/** Whether a descriptor has an unknown kind, or a blob of an unknown hash algorithm. */
function isForeign(resource: unknown): boolean {
  if (!isRecord(resource) || isResource(resource) || typeof resource.kind !== "string") return false;
  if (!resourceKinds.has(resource.kind)) return true;
  return typeof resource.blob === "string" && /^(?!sha256:|blake3:)[^:]+:/.test(resource.blob);
}

const resourceKinds = new Set(["image", "file", "link"]);
