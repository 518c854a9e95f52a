import { isResource } from "../../content/index.js";
import { describe } from "../../internal/arguments.js";
import { contentRules } from "../../internal/message-shapes.js";
import { isRecord } from "../../internal/shape.js";

/**
 * A stored message with what this version does not know made into what it does, so that one new block of another writer
 * does not cost the whole message: an unknown block of an assistant becomes an opaque block, any other a text block that
 * names it, and absent content becomes empty. A text block whose resource has a kind, or a blob of an algorithm, that is not
 * known keeps its text, which describes the resource. Returns the same object where nothing has to change.
 */
export function knownMessage(message: unknown): unknown {
  if (!isRecord(message)) return message;
  const role = message.role === "hookMessage" ? "custom" : message.role;
  const content = knownContent(role, message.content);
  return role === message.role && content === message.content ? message : { ...message, role, content };
}

/** The same for content alone, as a context edit carries it. */
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

/** Whether a descriptor has a kind, or a blob of an algorithm, that another writer knows and this version does not. */
function isForeign(resource: unknown): boolean {
  if (!isRecord(resource) || isResource(resource) || typeof resource.kind !== "string") return false;
  if (!resourceKinds.has(resource.kind)) return true;
  return typeof resource.blob === "string" && /^(?!sha256:|blake3:)[^:]+:/.test(resource.blob);
}

const resourceKinds = new Set(["image", "file", "link"]);
