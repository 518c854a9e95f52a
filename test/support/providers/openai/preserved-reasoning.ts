import { createHash } from "node:crypto";
import { canonicalJson } from "../json-walk.js";

/**
 * Preserved reasoning, as OpenAI documents it for its newer models. Before each reasoning item that comes back the
 * history is checked: a message that was edited, shortened or inserted, or another set of tools, and the item is
 * removed without an error; `input_transformations` lists it. `instructions` of the request are of one turn.
 *
 * @see https://developers.openai.com/api/docs/guides/preserved-reasoning and …/keep-prefix-unchanged, and openai
 *   7.59.0, `Response.InputTransformation` (stored copies, 2026-11-28)
 */

/** The parts of a request that are compared. */
export interface ReasoningRequest {
  readonly model: string;
  readonly tools?: unknown;
  readonly input: readonly unknown[];
}

/** A reasoning item that the model does not read. */
export interface RemovedReasoning {
  readonly id: string;
  readonly action: "removed";
  readonly reason: "model_mismatch" | "prefix_mismatch";
  readonly type: "reasoning";
}

interface Made {
  readonly model: string;
  readonly item: string;
  readonly prefix: string;
}

/** The Responses API of a model with preserved reasoning, without stored responses. */
export class PreservedReasoning {
  readonly #made = new Map<string, Made>();

  /** The reasoning that is removed from a request, and the number of items that the model reads. */
  check(request: ReasoningRequest): { readonly removed: readonly RemovedReasoning[]; readonly read: number } {
    const { removed, read } = this.#walk(request);
    return { removed, read };
  }

  /** The items of a reply, with ids, and encrypted content for its reasoning. */
  reply(request: ReasoningRequest, output: readonly { readonly type: string }[]): Record<string, unknown>[] {
    const { hash } = this.#walk(request);
    return output.map((item, at) => {
      if (item.type !== "reasoning") {
        add(hash, item);
        return { ...item };
      }
      const id = `rs_${String(this.#made.size).padStart(4, "0")}${at}`;
      const made = { id, summary: [], ...item, encrypted_content: `gAAA-${id}` };
      const { model } = request;
      this.#made.set(id, { model, item: made.encrypted_content, prefix: hash.copy().digest("hex") });
      add(hash, made.encrypted_content);
      return made;
    });
  }

  #walk({ model, tools, input }: ReasoningRequest) {
    const hash = createHash("sha256");
    add(hash, tools ?? []);
    const removed: RemovedReasoning[] = [];
    let read = 0;
    for (const item of input as readonly { type?: string; id?: string; encrypted_content?: string }[]) {
      if (item.type !== "reasoning") {
        add(hash, item);
        continue;
      }
      const { id = "", encrypted_content: content } = item;
      const made = this.#made.get(id);
      const prefix = hash.copy().digest("hex");
      if (made?.model === model && made.item === content && made.prefix === prefix) {
        read++;
        add(hash, content);
      } else {
        const reason = made?.model === model ? "prefix_mismatch" : "model_mismatch";
        removed.push({ id, action: "removed", reason, type: "reasoning" });
      }
    }
    return { hash, removed, read };
  }
}

/** Adds an item as it counts: without the parts that a client sets, and breakpoints of the cache. */
function add(hash: ReturnType<typeof createHash>, item: unknown): void {
  hash.update(`${canonicalJson(item, ["id", "status", "prompt_cache_breakpoint"])}\n`);
}
