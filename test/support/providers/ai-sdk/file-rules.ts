import { agreesWith, sniff } from "sessile/media";
import { decodeBase64 } from "../../plain-values.js";
import type { ProviderRule } from "../rule.js";
import { type AiSdkCall, filesOf, partsOf, resultPartsOf } from "./parts.js";

const read = "(a stored copy, read 2026-11-21)";
const issues = "https://github.com/vercel/ai/issues";

const isAnthropic = (provider: string): boolean => /anthropic/.test(provider);
const isChat = (provider: string): boolean => /\.chat$/.test(provider);

/** What a provider's converter throws at, in place of sending it. */
function takes(provider: string, mediaType: unknown): boolean {
  if (typeof mediaType !== "string") return true;
  if (/^image\//.test(mediaType)) return true;
  if (mediaType === "application/pdf") return !/^(?:xai|groq)\b/.test(provider);
  return isAnthropic(provider) && mediaType === "text/plain";
}

/** Rules of images and documents. */
export const fileRules: readonly ProviderRule<AiSdkCall>[] = [
  {
    id: "nothing-deprecated",
    source: `the image part: https://ai-sdk.dev/v7/docs/reference/ai-sdk-core/model-message and content/docs/08-migration-guides/23-migration-guide-7-0.mdx of https://github.com/vercel/ai ${read}`,
    check: (call) =>
      partsOf(call)
        .filter(({ part }) => part.type === "image")
        .map(({ path, part }) => ({ path, problem: `${part.type} is deprecated` })),
  },
  {
    id: "nothing-fetched",
    source:
      "downloadAssets of ai 7.0.173 fetches the addresses that the model does not take, and takes text for an address where it is one",
    check: (call) =>
      [...partsOf(call), ...resultPartsOf(call)]
        .filter(({ part: { type, data } }) =>
          type === "image-url" || type === "file-url"
            ? true
            : data instanceof URL || (typeof data === "string" && URL.canParse(data)),
        )
        .map(({ path }) => ({ path, problem: "an address that would be fetched" })),
  },
  {
    id: "base64",
    source: "FilePart and ToolResultOutput of @ai-sdk/provider-utils 4.0.65: base64; RFC 4648 section 4",
    check: (call) =>
      filesOf(call)
        .filter(({ part: { data } }) => typeof data === "string" && !URL.canParse(data))
        .filter(({ part: { data } }) => data === "" || decodeBase64(String(data)) === undefined)
        .map(({ path }) => ({ path: `${path}.data`, problem: "no base64" })),
  },
  {
    id: "bytes-agree",
    source: `providers compare the bytes with the media type: https://github.com/BerriAI/litellm/issues/24900 ${read}`,
    check: (call) =>
      filesOf(call).flatMap(({ path, part: { data, mediaType } }) => {
        const bytes = typeof data === "string" ? decodeBase64(data) : undefined;
        if (bytes === undefined || bytes.length === 0 || typeof mediaType !== "string") return [];
        const media = sniff(bytes);
        const agrees = media !== undefined && media.kind !== "invalid" && agreesWith(media, mediaType);
        return agrees ? [] : [{ path, problem: `${media?.mediaType ?? "unknown bytes"}, not ${mediaType}` }];
      }),
  },
  {
    id: "media-types",
    source: `providers throw UnsupportedFunctionalityError: ${issues}/7399 and /14804 ${read}; text/plain alone is taken of all text by @ai-sdk/anthropic 3.0.138`,
    check: (call) =>
      partsOf(call)
        .filter(({ part }) => part.type === "file" && !takes(call.provider, part.mediaType))
        .map(({ path, part }) => ({ path, problem: `file part media type ${part.mediaType}` })),
  },
  {
    id: "images-of-tools",
    source: `convertToAnthropicMessagesPrompt of @ai-sdk/anthropic 3.0.138 drops image-data that is none, and file-data that is no PDF`,
    check: (call) =>
      resultPartsOf(call)
        .filter(({ part: { type, mediaType } }) =>
          type === "image-data"
            ? !/^image\//.test(String(mediaType))
            : type === "file-data" && mediaType !== "application/pdf",
        )
        .map(({ path, part }) => ({ path, problem: `${part.mediaType} as ${part.type}` })),
  },
  {
    id: "no-base64-as-text",
    source: `providers of chat completions write a tool's images out as text: ${issues}/10850 and /8209 ${read}`,
    check: (call) =>
      isChat(call.provider)
        ? resultPartsOf(call)
            .filter(({ part }) => part.type !== "text")
            .map(({ path }) => ({ path, problem: "would be sent as text" }))
        : [],
  },
];
