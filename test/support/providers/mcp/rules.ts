import { GetPromptResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { isRecord } from "../../plain-values.js";
import {
  badBase64,
  badMediaTypes,
  badUris,
  blankNames,
  blankTexts,
  mislabelled,
  type PlacedBlock,
} from "../content-blocks.js";
import { differences, loneSurrogates } from "../json-walk.js";
import type { ProviderRule } from "../rule.js";

const spec = "https://modelcontextprotocol.io/specification/2025-11-25";
const read = "(a stored copy, read 2026-11-21)";

/** The block of each message of a prompt; a tool's result is looked at as a prompt of its blocks. */
function blocks(body: unknown): readonly PlacedBlock[] {
  if (!isRecord(body) || !Array.isArray(body.messages)) return [];
  return body.messages.flatMap((message: unknown, index) =>
    isRecord(message) && isRecord(message.content)
      ? [{ path: `messages.${index}.content`, block: message.content }]
      : [],
  );
}

/** 10 MiB, less what JSON-RPC puts around a result. */
export const maxPromptBytes = 10 * 2 ** 20 - 1024;

/** What MCP asks of a result of `prompts/get`: the official schema, and what it does not say. */
export const mcpRules: readonly ProviderRule<unknown>[] = [
  {
    id: "schema",
    source: `GetPromptResultSchema of @modelcontextprotocol/sdk 1.32.2; ${spec}/schema#getpromptresult ${read}`,
    check: (body) =>
      GetPromptResultSchema.safeParse(body).error?.issues.map(({ path, message }) => ({
        path: path.join("."),
        problem: message,
      })) ?? [],
  },
  {
    id: "nothing-unknown",
    source: "GetPromptResultSchema of @modelcontextprotocol/sdk 1.32.2 drops fields that it does not know",
    check: (body) => {
      const { success, data } = GetPromptResultSchema.safeParse(body);
      return success ? differences(body, data) : [];
    },
  },
  {
    id: "base64",
    source: `${spec}/server/prompts#image-content and #embedded-resources: must be base64 ${read}; RFC 4648 section 4`,
    check: (body) => badBase64(blocks(body)),
  },
  {
    id: "media-type",
    source: `${spec}/server/prompts#image-content and #embedded-resources: must have a valid media type ${read}`,
    check: (body) => badMediaTypes(blocks(body)),
  },
  {
    id: "bytes-agree",
    source: `${spec}/server/prompts#embedded-resources: must have the appropriate media type ${read}`,
    check: (body) => mislabelled(blocks(body)),
  },
  {
    id: "text-media-type",
    source: `${spec}/server/prompts#embedded-resources: text has to have its media type too ${read}`,
    check: (body) =>
      blocks(body).flatMap(({ path, block }) =>
        isRecord(block.resource) && "text" in block.resource && block.resource.mimeType === undefined
          ? [{ path: `${path}.resource.mimeType`, problem: "no media type" }]
          : [],
      ),
  },
  {
    id: "uri",
    source: `${spec}/server/prompts#embedded-resources: must have a valid URI; ${spec}/server/resources#custom-uri-schemes: of RFC 3986 ${read}`,
    check: (body) => badUris(blocks(body)),
  },
  {
    id: "name",
    source: `${spec}/schema#resourcelink: a name is required, and shown where there is no title ${read}`,
    check: (body) => blankNames(blocks(body)),
  },
  {
    id: "text",
    source: `hosts pass text on to models that refuse an empty one: https://github.com/HKUDS/nanobot/pull/949 ${read}`,
    check: (body) => blankTexts(blocks(body)),
  },
  {
    id: "utf-8",
    source: `${spec}/basic/transports: messages must be UTF-8 ${read}`,
    check: loneSurrogates,
  },
  {
    id: "size",
    source: `STDIO_DEFAULT_MAX_BUFFER_SIZE of @modelcontextprotocol/sdk 1.32.2, 10 MiB a message, beyond which the connection closes: https://github.com/modelcontextprotocol/typescript-sdk/pull/2239 ${read}`,
    check: (body) => {
      const bytes = Buffer.byteLength(JSON.stringify(body) ?? "");
      return bytes > maxPromptBytes ? [{ path: "", problem: `${bytes} bytes` }] : [];
    },
  },
];
