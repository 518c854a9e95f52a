import { digest } from "../blobs/index.js";
import { encodeUtf8 } from "../internal/bytes.js";
import type { Projection } from "./projection.js";
import type { Part, Turn } from "./request.js";

/**
 * What a request's prefix is made of, by digests. JSON-safe: keep it beside the request, and compare it with
 * the next one's.
 */
export interface PromptContract {
  /** The harness's own name for how it makes prompts; it raises it when it changes that on purpose. */
  readonly version: string;
  /** {@link Projection.target}. */
  readonly target: string;
  readonly model: string;
  /** Digest of the declared tools. */
  readonly tools: string;
  /** Digest of the instructions. */
  readonly system: string;
  /** A digest for each turn. */
  readonly turns: readonly string[];
  /**
   * The same for requests that can share a cached prefix at all: a digest of all of the above but the turns.
   * Fit to be given to a provider as the key of its cache.
   */
  readonly family: string;
}

/** Options of {@link promptContract}. */
export interface PromptContractOptions {
  readonly version: string;
  readonly model: string;
  /** As they are declared to the provider; none by default. */
  readonly tools?: unknown;
}

/**
 * What a request's prefix is made of. Stored attachments count by the digest that they have already, so that
 * little is read.
 *
 * @example
 * ```ts
 * const model = "claude-opus-5-5";
 * const projection = await project(contextOf([userMessage("hi")]), anthropicMessages({ model }));
 * promptContract(projection, { version: "2", model }).family.length; // 64
 * ```
 */
export function promptContract(
  { request, target }: Pick<Projection<unknown>, "request" | "target">,
  { version, model, tools }: PromptContractOptions,
): PromptContract {
  const parts = {
    version,
    target,
    model,
    tools: hash(tools ?? null),
    system: hash(request.system.map(essence)),
  };
  return { ...parts, turns: request.turns.map(turnHash), family: hash(parts) };
}

/** Why a cached prefix could not be used, or how far it could. */
export interface ContractComparison {
  /** What is different; `turns` where one of the earlier request's turns is no longer there as it was. */
  readonly changed: readonly ("version" | "target" | "model" | "tools" | "system" | "turns")[];
  /** How many of the turns are the same from the first on; 0 where anything before them is different. */
  readonly sharedTurns: number;
}

/**
 * Compares a request with the one before it. With nothing changed, the whole of the earlier request is a
 * prefix of the later one.
 *
 * @example
 * ```ts
 * const digests = { tools: "", system: "", family: "" };
 * const before = { version: "1", target: "t", model: "m", ...digests, turns: ["a", "b"] };
 * const after = { ...before, turns: ["a", "c", "d"] };
 * compareContracts(before, after); // { changed: ["turns"], sharedTurns: 1 }
 * ```
 */
export function compareContracts(before: PromptContract, after: PromptContract): ContractComparison {
  const named = ["version", "target", "model", "tools", "system"] as const;
  const changed = named.filter((part) => before[part] !== after[part]);
  const differs = before.turns.findIndex((turn, at) => turn !== after.turns[at]);
  const shared = differs < 0 ? before.turns.length : differs;
  return {
    changed: differs < 0 ? changed : [...changed, "turns"],
    sharedTurns: changed.length > 0 ? 0 : shared,
  };
}

function hash(value: unknown): string {
  return digest(encodeUtf8(JSON.stringify(value) ?? "null")).slice("sha256:".length);
}

function turnHash(turn: Turn): string {
  const results = turn.role === "user" ? turn.results.map(essence) : [];
  return hash([turn.role, results, turn.parts.map(essence)]);
}

/** A part without where it comes from, and by digest what is large. */
function essence(part: Part): unknown {
  const { origin: _, ...rest } = part;
  if (part.type === "media") {
    const { kind, mediaType, name, bytes, resource } = part;
    // One that was resized is not what its resource says.
    const isStored = resource?.size === bytes.length;
    return { kind, mediaType, name, content: isStored ? resource.contentSha256 : digest(bytes).slice(7) };
  }
  if (part.type === "reference") {
    // Until when the provider has it is not told to the provider.
    const { expiresAt: _until, ...reference } = part.reference;
    return { ...rest, reference, resource: undefined };
  }
  if (part.type === "result") return { ...rest, parts: part.parts.map(essence) };
  return rest;
}
