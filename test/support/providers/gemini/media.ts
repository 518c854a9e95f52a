import { decodedMedia, isOfType } from "../bytes-of-type.js";
import type { ProviderRule } from "../rule.js";
import { allParts, blobsOf, type GeminiRequest, versionOf } from "./wire.js";

type Rule = ProviderRule<GeminiRequest>;

const images = ["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"];
const understanding = "https://ai.google.dev/gemini-api/docs/image-understanding";
const read = "(read 2026-11-21)";

const types: Rule = {
  id: "media-types",
  source: `${understanding} and https://ai.google.dev/gemini-api/docs/document-processing; seen in https://github.com/google-gemini/gemini-cli/issues/3054 ${read}`,
  check: (request) =>
    blobsOf(request).flatMap(({ path, blob: { mimeType }, nested }) =>
      typeof mimeType === "string" && isTaken(mimeType, nested)
        ? []
        : [{ path: `${path}.mime_type`, problem: `Unsupported MIME type: ${mimeType}` }],
    ),
};

/** In a function response fewer: https://docs.cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling */
function isTaken(mimeType: string, nested: boolean): boolean {
  if (mimeType === "application/pdf" || mimeType === "text/plain") return true;
  return nested
    ? ["image/png", "image/jpeg", "image/webp"].includes(mimeType)
    : images.includes(mimeType) ||
        /^text\/(html|css|csv|markdown|xml|rtf|javascript|x-python)$/.test(mimeType);
}

const base64: Rule = {
  id: "data-is-base64",
  source: `https://github.com/danny-avila/LibreChat/issues/6593 ${read}`,
  check: (request) =>
    blobsOf(request)
      .filter(({ blob }) => decodedMedia(blob.data) === undefined)
      .map(({ path, blob }) => ({
        path: `${path}.data`,
        problem: `Invalid value at '${path}.data' (TYPE_BYTES), Base64 decoding failed for ${JSON.stringify(blob.data)}`,
      })),
};

const ofItsType: Rule = {
  id: "data-is-of-its-type",
  source: `https://github.com/google-gemini/gemini-cli/issues/5064 and https://github.com/google-gemini/gemini-cli/issues/27244 ${read}`,
  check: (request) =>
    blobsOf(request).flatMap(({ path, blob: { data, mimeType } }) => {
      const decoded = decodedMedia(data);
      if (decoded === undefined || typeof mimeType !== "string" || isOfType(decoded, mimeType)) return [];
      return [{ path, problem: "Provided image is not valid." }];
    }),
};

const inResponses: Rule = {
  id: "responses-have-media-from-version-3",
  source: `https://github.com/google-gemini/gemini-cli/issues/19436 and https://ai.google.dev/gemini-api/docs/function-calling ${read}`,
  check: (request) =>
    versionOf(request.model) >= 3
      ? []
      : allParts(request)
          .filter(({ response }) => response?.parts !== undefined)
          .map(({ path }) => ({
            path: `${path}.function_response.parts`,
            problem:
              "Unable to submit request because `function_response.parts` is not supported for this model.",
          })),
};

const maxSide = 8000;
const sides: Rule = {
  id: "image-sides",
  source: `https://github.com/earendil-works/pi/pull/120 (measured) ${read}`,
  check: (request) =>
    blobsOf(request).flatMap(({ path, blob }) => {
      const media = decodedMedia(blob.data)?.media;
      return media?.kind === "image" && Math.max(media.width ?? 0, media.height ?? 0) > maxSide
        ? [{ path, problem: "Provided image is not valid." }]
        : [];
    }),
};

const maxImages = 3600;
const count: Rule = {
  id: "image-count",
  source: `${understanding} ${read}`,
  check: (request) => {
    const many = blobsOf(request).filter(({ blob }) => String(blob.mimeType).startsWith("image/"));
    const over = many[maxImages];
    return over === undefined ? [] : [{ path: over.path, problem: "Request contains an invalid argument." }];
  },
};

const maxBytes = 20_000_000;
const size: Rule = {
  id: "request-size",
  source: `${understanding} (20 MB with inline data) ${read}`,
  check: ({ bytes }) =>
    bytes <= maxBytes
      ? []
      : [{ path: "", problem: `Request payload size exceeds the limit: ${maxBytes} bytes.` }],
};

/** Bytes, their types and sizes. */
export const mediaRules: readonly Rule[] = [types, base64, ofItsType, inResponses, sides, count, size];
