/** Digests of a request's prefix, to find why a prompt cache missed. */

import { digest } from "../blobs/index.js";
import { encodeUtf8 } from "../core/bytes.js";
import type { Projection } from "./projection.js";
import type { Part, Turn } from "./request.js";

/**
 * The parts of a request's prefix, as digests. JSON-safe: store it with the request, and compare it with the
 * next one.
 */
export interface PromptContract {
  /** The harness's version of its prompts. Raise it with each intentional change. */
  readonly version: string;
  /** {@link Projection.target}. */
  readonly target: string;
  readonly model: string;
  /** Digest of the declared tools. */
  readonly tools: string;
  /** Digest of the instructions. */
  readonly system: string;
  /** One digest per turn. */
  readonly turns: readonly string[];
  /**
   * Digest of all of the above except the turns: equal for requests that can share a cached prefix. Suitable
   * as a provider's cache key.
   */
  readonly family: string;
}

/** Options of {@link promptContract}. */
export interface PromptContractOptions {
  readonly version: string;
  readonly model: string;
  /** The tools as declared to the provider. @default none */
  readonly tools?: unknown;
  /** Instructions given beside the projection, such as the prompt of a memory. @default none */
  readonly system?: string;
}

/**
 * Computes the contract of a request. Reuses the stored digest of each attachment, so that it reads little.
 * @example
 * ```ts
 * const model = "claude-opus-5-5";
 * const projection = await project(contextFrom([userMessage("hi")]), anthropicMessages({ model }));
 * promptContract(projection, { version: "2", model }).family.length; // 64
 * ```
 */
export function promptContract(
  { request, target }: Pick<Projection<unknown>, "request" | "target">,
  { version, model, tools, system }: PromptContractOptions,
): PromptContract {
  const parts = {
    version,
    target,
    model,
    tools: hash(tools ?? null),
    // Without a text beside the projection the digest is that of older versions.
    system: hash(
      system === undefined ? request.system.map(partEssence) : [system, ...request.system.map(partEssence)],
    ),
  };
  return { ...parts, turns: request.turns.map(turnHash), family: hash(parts) };
}

/** The reason why a cached prefix is unusable, or its usable length. */
export interface ContractComparison {
  /** The parts that differ; `turns` if a turn of the earlier request changed or is gone. */
  readonly changed: readonly ("version" | "target" | "model" | "tools" | "system" | "turns")[];
  /** The number of equal turns from the start; 0 if an earlier part differs. */
  readonly sharedTurns: number;
}

/**
 * Compares a request with its predecessor. If nothing changed, the whole earlier request is a prefix of the
 * later one.
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
  const results = turn.role === "user" ? turn.results.map(partEssence) : [];
  return hash([turn.role, results, turn.parts.map(partEssence)]);
}

/** A part without its origin, and with digests of large members. */
export function partEssence(part: Part): unknown {
  const { origin: _, ...rest } = part;
  if (part.type === "media") {
    const { kind, mediaType, name, bytes, resource } = part;
    // A resized image does not match its resource.
    const isStored = resource?.size === bytes.length;
    return { kind, mediaType, name, content: isStored ? resource.contentSha256 : digest(bytes).slice(7) };
  }
  if (part.type === "reference") {
    // The provider does not see the expiry of a reference.
    const { expiresAt: _until, ...reference } = part.reference;
    return { ...rest, reference, resource: undefined };
  }
  if (part.type === "result") return { ...rest, parts: part.parts.map(partEssence) };
  return rest;
}
