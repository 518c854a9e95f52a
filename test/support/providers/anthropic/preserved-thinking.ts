import { createHash } from "node:crypto";
import { canonicalJson } from "../json-walk.js";

/**
 * Preserved thinking, as Anthropic documents it. A thinking block that comes back is checked for two things: the
 * model may read it, and nothing before it changed since it was made: `system`, `tools` and all messages. Cache
 * markers are not compared. Thinking may be left out from the beginning; a block that is left out or moved between
 * others fails those after it. A change invalidates the thinking that is after it already, and neither what is
 * before it nor what is made later.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/preserved-thinking, its pages prefix-checks and
 *   fix-bound-to-a-different-conversation, and @anthropic-ai/sdk 1.14.0, `BetaThinkingBlockBinding` and
 *   `BetaThinkingDroppedInputTransformation` (stored copies, 2026-11-28)
 */

/** The parts of a request that are compared. */
export interface BoundRequest {
  readonly model: string;
  readonly system?: unknown;
  readonly tools?: unknown;
  readonly messages: readonly {
    readonly role: string;
    readonly content: unknown;
    readonly clear_at?: unknown;
  }[];
}

/** A thinking block that the server does not show to the model, as `input_transformations` lists it. */
export interface DroppedThinking {
  readonly type: "thinking_dropped";
  readonly path: string;
  readonly reason: "model_binding_mismatch" | "prefix_binding_mismatch";
}

type Content = readonly { readonly type: string }[];

/** What the server signed: it could be read from the signature itself. */
interface Signed {
  readonly model: string;
  readonly block: string;
  readonly prefix: string;
  readonly previous: string | undefined;
}

interface Checked {
  /** The words of a 400, as with `prefix_mismatch_behavior: "error"`. */
  readonly refused: string | undefined;
  /** What `drop_block` removes. */
  readonly dropped: readonly DroppedThinking[];
  /** Thinking blocks that the model reads. */
  readonly read: number;
}

/** The Messages API of a model with preserved thinking. Holds what it signed. */
export class PreservedThinking {
  readonly #signed = new Map<string, Signed>();

  /** Checks a request, block by block. */
  check(request: BoundRequest): Checked {
    return this.#walk(request).checked;
  }

  /** The content of a reply, with a signature for each of its thinking blocks. */
  reply(request: BoundRequest, content: Content): readonly Record<string, unknown>[] {
    const { prefix, previous } = this.#walk(request);
    let last = previous;
    return content.map((block) => {
      const isThinking = block.type === "thinking" || block.type === "redacted_thinking";
      if (!isThinking) {
        prefix.add("assistant", block);
        return { ...block };
      }
      const signature = `sig-${this.#signed.size}`;
      const made = block.type === "thinking" ? { ...block, signature } : { ...block, data: signature };
      const { model } = request;
      this.#signed.set(signature, {
        model,
        block: JSON.stringify(made),
        prefix: prefix.digest(),
        previous: last,
      });
      last = signature;
      return made;
    });
  }

  #walk({ model, system, tools, messages }: BoundRequest) {
    const prefix = new Prefix();
    prefix.add("head", { system: system ?? [], tools: tools ?? [] });
    const dropped: DroppedThinking[] = [];
    let refused: string | undefined;
    let previous: string | undefined;
    let read = 0;
    messages.forEach(({ role: side, content, clear_at }, i) => {
      // What is cleared stays part of the conversation, as it is.
      const role = clear_at === undefined ? side : `${side}, cleared at ${String(clear_at)}`;
      if (clear_at !== undefined && !isScoped(messages, i)) refused ??= `messages.${i}: misplaced`;
      const blocks = typeof content === "string" ? [{ type: "text", text: content }] : (content as Content);
      blocks.forEach((block, j) => {
        const { type, signature, data } = block as { type: string; signature?: string; data?: string };
        if (type !== "thinking" && type !== "redacted_thinking") {
          prefix.add(role, block);
          return;
        }
        const path = `messages.${i}.content.${j}`;
        const key = (type === "thinking" ? signature : data) ?? "";
        const known = this.#signed.get(key);
        if (known === undefined || known.block !== JSON.stringify(block)) {
          refused ??= `${path}: Invalid \`signature\` in \`thinking\` block`;
          return;
        }
        if (known.model !== model) {
          dropped.push({ type: "thinking_dropped", path, reason: "model_binding_mismatch" });
          return;
        }
        const isNext = previous === undefined || previous === known.previous;
        if (!isNext || known.prefix !== prefix.digest()) {
          dropped.push({ type: "thinking_dropped", path, reason: "prefix_binding_mismatch" });
          refused ??= `${path}: Invalid \`signature\` in \`thinking\` block. The block is bound to a different conversation. Remove the block, or set \`thinking.block_binding.prefix_mismatch_behavior\` to "drop_block".`;
          return;
        }
        previous = key;
        read++;
      });
    });
    return { prefix, previous, checked: { refused, dropped, read } satisfies Checked };
  }
}

/** Whether a message that is cleared at the next one of the user's has its place, and no more than text. */
function isScoped(messages: BoundRequest["messages"], at: number): boolean {
  const roles = messages.map(({ role }) => role);
  const before = roles.slice(0, at).findLast((role) => role !== "system");
  const after = roles.slice(at).find((role) => role !== "system");
  const blocks = messages[at]?.content as readonly Readonly<Record<string, unknown>>[];
  const isText = blocks.every((block) => block.type === "text" && !("cache_control" in block));
  return isText && roles[at] === "system" && before === "user" && after !== "user";
}

/** All before a block, value by value, without thinking and cache markers. */
class Prefix {
  readonly #hash = createHash("sha256");

  add(role: string, block: unknown): void {
    this.#hash.update(`${role}\n${canonicalJson(block, ["cache_control"])}\n`);
  }

  digest(): string {
    return this.#hash.copy().digest("hex");
  }
}
