import { createRequire } from "node:module";
import type { PromptCapabilities } from "@agentclientprotocol/sdk";
import { z } from "zod";
import { isRecord } from "../../plain-values.js";
import {
  badBase64,
  badMediaTypes,
  badUris,
  blankNames,
  blankTexts,
  blocksAt,
  mislabelled,
  type PlacedBlock,
} from "../content-blocks.js";
import { loneSurrogates, step } from "../json-walk.js";
import type { Fault, ProviderRule } from "../rule.js";

const docs = "https://agentclientprotocol.com/protocol";
const read = "(a stored copy, read 2026-11-21)";

/** A prompt, and what the agent said when it was asked what it takes. */
export interface AcpPromptSent {
  readonly prompt: unknown;
  readonly capabilities: PromptCapabilities;
}

const schema: unknown = createRequire(import.meta.url)("@agentclientprotocol/sdk/schema/v1/schema.json");
const { $defs } = z.object({ $defs: z.record(z.string(), z.looseObject({})) }).parse(schema);

const promptSchema = z.fromJSONSchema({ type: "array", items: { $ref: "#/$defs/ContentBlock" }, $defs });

/** The fields of each kind of block, and of what is inside one. */
const fieldsOf = (name: string): ReadonlySet<string> =>
  new Set(["type", ...Object.keys(z.looseObject({}).parse($defs[name]?.properties))]);
const blockFields: ReadonlyMap<unknown, ReadonlySet<string>> = new Map([
  ["text", fieldsOf("TextContent")],
  ["image", fieldsOf("ImageContent")],
  ["audio", fieldsOf("AudioContent")],
  ["resource_link", fieldsOf("ResourceLink")],
  ["resource", fieldsOf("EmbeddedResource")],
]);
const textFields = fieldsOf("TextResourceContents");
const blobFields = fieldsOf("BlobResourceContents");

const blocks = ({ prompt }: AcpPromptSent): readonly PlacedBlock[] => blocksAt("prompt", prompt);

/** Fields of a block that the protocol does not have. */
function unknownFields({ path, block }: PlacedBlock): readonly Fault[] {
  const { resource } = block;
  const known = blockFields.get(block.type);
  const inner = !isRecord(resource) ? undefined : "text" in resource ? textFields : blobFields;
  const strange = (at: string, value: object, fields: ReadonlySet<string> | undefined) =>
    Object.keys(value)
      .filter((key) => fields?.has(key) === false)
      .map((key) => ({ path: step(at, key), problem: "a field of no protocol" }));
  return [
    ...strange(path, block, known),
    ...(isRecord(resource) ? strange(`${path}.resource`, resource, inner) : []),
  ];
}

/** Blocks that an agent takes only if it says so. */
function uncovered(type: string, covered: boolean | undefined, sent: AcpPromptSent): readonly Fault[] {
  if (covered === true) return [];
  return blocks(sent)
    .filter(({ block }) => block.type === type)
    .map(({ path }) => ({ path, problem: `the agent takes no ${type}` }));
}

/** 32 MiB, less what JSON-RPC puts around a prompt. */
export const maxPromptBytes = 32 * 2 ** 20 - 1024;

/** What ACP asks of `session/prompt`: the published schema, and what it does not say. */
export const acpRules: readonly ProviderRule<AcpPromptSent>[] = [
  {
    id: "schema",
    source: "ContentBlock in @agentclientprotocol/sdk/schema/v1/schema.json of 2.4.0",
    check: ({ prompt }) =>
      promptSchema.safeParse(prompt).error?.issues.map(({ path, message }) => ({
        path: ["prompt", ...path].join("."),
        problem: message,
      })) ?? [],
  },
  {
    id: "no-custom-fields",
    source: `${docs}/extensibility: no custom fields at the root of a type, all names are reserved ${read}`,
    check: (sent) => blocks(sent).flatMap(unknownFields),
  },
  {
    id: "image-capability",
    source: `${docs}/initialization#prompt-capabilities: image, false where it is not told ${read}`,
    check: (sent) => uncovered("image", sent.capabilities.image, sent),
  },
  {
    id: "audio-capability",
    source: `${docs}/initialization#prompt-capabilities: audio, false where it is not told ${read}`,
    check: (sent) => uncovered("audio", sent.capabilities.audio, sent),
  },
  {
    id: "embedded-capability",
    source: `${docs}/initialization#prompt-capabilities: embeddedContext, false where it is not told ${read}`,
    check: (sent) => uncovered("resource", sent.capabilities.embeddedContext, sent),
  },
  {
    id: "base64",
    source: `${docs}/content: data and blob are base64 ${read}; RFC 4648 section 4`,
    check: (sent) => badBase64(blocks(sent)),
  },
  {
    id: "media-type",
    source: `${docs}/content#image-content: the media type of the image ${read}; RFC 6838 section 4.2`,
    check: (sent) => badMediaTypes(blocks(sent)),
  },
  {
    id: "bytes-agree",
    source: `${docs}/content: the media type of what is sent ${read}`,
    check: (sent) => mislabelled(blocks(sent)),
  },
  {
    id: "uri",
    source: `${docs}/content#embedded-resource and #resource-link: the URI that identifies it ${read}; RFC 3986`,
    check: (sent) => badUris(blocks(sent)),
  },
  {
    id: "name",
    source: `${docs}/content#resource-link: a name is required, for people to read ${read}`,
    check: (sent) => blankNames(blocks(sent)),
  },
  {
    id: "text",
    source: `agents pass text on to models that refuse an empty one: https://github.com/anthropics/claude-code/issues/59812 ${read}`,
    check: (sent) => blankTexts(blocks(sent)),
  },
  {
    id: "something-said",
    source: `${docs}/prompt-turn#1-user-message: the prompt is the user's message ${read}; an agent has nothing to answer where it is empty`,
    check: ({ prompt }) =>
      Array.isArray(prompt) && prompt.length === 0 ? [{ path: "prompt", problem: "nothing is said" }] : [],
  },
  {
    id: "utf-8",
    source: `${docs}/transports: messages are JSON-RPC, in UTF-8 ${read}`,
    check: ({ prompt }) => loneSurrogates(prompt),
  },
  {
    id: "size",
    source:
      "DEFAULT_MAX_MESSAGE_BYTES of @agentclientprotocol/sdk 2.4.0, 32 MiB, beyond which a stream is closed",
    check: ({ prompt }) => {
      const bytes = Buffer.byteLength(JSON.stringify(prompt) ?? "");
      return bytes > maxPromptBytes ? [{ path: "prompt", problem: `${bytes} bytes` }] : [];
    },
  },
];
