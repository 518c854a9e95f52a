/**
 * Signatures of providers: opencode keeps the AI SDK's provider metadata beside a part, this library the form
 * of the provider's own protocol.
 */

import type { AssistantMessage } from "../../content/index.js";
import { type ForeignObject, parseJson, readObject, readText } from "../shared/values.js";

type Block = AssistantMessage["content"][number];

/** A protocol, and how it signs. */
interface Family {
  readonly api: string;
  /** The key of its metadata. */
  readonly key: string;
  /** The signature of a part; undefined for metadata of another shape. */
  read(metadata: ForeignObject, part: ForeignObject): string | undefined;
  /** The inverse. */
  write(signature: string, block: Block): ForeignObject | undefined;
}

/** https://ai-sdk.dev/providers/ai-sdk-providers, "Reasoning" of each provider (read 2026-11-23) */
const families: readonly Family[] = [
  {
    api: "anthropic-messages",
    key: "anthropic",
    read: ({ signature, redactedData }) => readText(signature) ?? readText(redactedData),
    write: (signature, block) =>
      block.type !== "thinking"
        ? undefined
        : block.redacted === true
          ? { redactedData: signature }
          : { signature },
  },
  {
    api: "openai-responses",
    key: "openai",
    read: ({ itemId, reasoningEncryptedContent, phase }, part) => {
      const id = readText(itemId);
      // The protocol has the id of a call's item in the call's own id.
      if (id === undefined || part.type === "tool") return undefined;
      if (part.type !== "reasoning")
        return typeof phase === "string" ? JSON.stringify({ v: 1, id, phase }) : id;
      const summary = part.text === "" ? [] : [{ type: "summary_text", text: part.text }];
      const sealed = readText(reasoningEncryptedContent);
      return JSON.stringify({
        type: "reasoning",
        id,
        summary,
        ...(sealed === undefined ? {} : { encrypted_content: sealed }),
      });
    },
    write: (signature, block) => {
      if (block.type === "toolCall") return undefined;
      const item = signature.startsWith("{") ? readObject(parseJson(signature)) : undefined;
      const itemId = item === undefined ? signature : readText(item.id);
      if (itemId === undefined || itemId === "") return undefined;
      if (block.type !== "thinking")
        return { itemId, ...(typeof item?.phase === "string" ? { phase: item.phase } : {}) };
      const sealed = readText(item?.encrypted_content);
      return { itemId, ...(sealed === undefined ? {} : { reasoningEncryptedContent: sealed }) };
    },
  },
  {
    api: "google-generative-ai",
    key: "google",
    read: ({ thoughtSignature }) => readText(thoughtSignature),
    write: (thoughtSignature) => ({ thoughtSignature }),
  },
];

/** The prefix of the protocol of metadata without a known form, which are the signature as they are. */
const sdk = "ai-sdk/";

/** The protocol of a message, as the metadata of its parts tell it; undefined if they have no signature. */
export function partApi(parts: readonly ForeignObject[], provider: string): string | undefined {
  let found: string | undefined;
  for (const part of parts) {
    const metadata = partMetadata(part);
    if (metadata === undefined) continue;
    const family = families.find(({ key }) => key in metadata);
    if (family === undefined) return sdk + provider;
    found ??= family.api;
    if (found !== family.api) return sdk + provider;
  }
  return found;
}

/** The signature of a part in the form of the protocol. */
export function partSignature(part: ForeignObject, api: string | undefined): string | undefined {
  const metadata = partMetadata(part);
  if (metadata === undefined || api === undefined) return undefined;
  if (api.startsWith(sdk)) return JSON.stringify(metadata);
  const family = families.find((each) => each.api === api);
  return family?.read(readObject(metadata[family.key]) ?? {}, part);
}

/** Whether a part is reasoning that the provider withheld. */
export function isRedacted(part: ForeignObject): boolean {
  return typeof readObject(partMetadata(part)?.anthropic)?.redactedData === "string";
}

/** The metadata of a block; undefined for a block without a signature, and of an unknown protocol. */
export function metadataFor(
  block: Block,
  { api = "", provider }: Pick<AssistantMessage, "api" | "provider">,
): ForeignObject | undefined {
  const signature = signedBy(block);
  if (signature === undefined || signature === "") return undefined;
  if (api.startsWith(sdk)) return readObject(parseJson(signature));
  const known = families.find((each) => each.api === api);
  const family = api === "" || api === "unknown" ? families.find(({ key }) => key === provider) : known;
  const metadata = family?.write(signature, block);
  return family === undefined || metadata === undefined ? undefined : { [family.key]: metadata };
}

/** The signature of a block, if it has one. */
export function signedBy(block: Block): string | undefined {
  switch (block.type) {
    case "text":
      return block.textSignature;
    case "thinking":
      return block.thinkingSignature;
    case "toolCall":
      return block.thoughtSignature;
    default:
      return undefined;
  }
}

/** The provider metadata of a part, without this library's own. */
function partMetadata(part: ForeignObject): ForeignObject | undefined {
  const { sessile, providerExecuted, ...metadata } = readObject(part.metadata) ?? {};
  return Object.keys(metadata).length === 0 ? undefined : metadata;
}
