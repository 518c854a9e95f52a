import type { Fault } from "../../rule.js";
import { isNamedFile, isStillImage, notFileData, notImageUrl } from "../media.js";
import type { OpenaiRule } from "../rule.js";
import { maxTextLength } from "../size.js";
import { emptyArray, lengthFaults } from "../text.js";
import { checkResponses, itemsOf, type ResponsesItem, type ResponsesPart } from "./shape.js";

/** The content of an item: that of a message, or a call's output. */
function contentOf(item: ResponsesItem, at: number) {
  if (item.type === "message") {
    return { content: item.content, path: `input[${at}].content`, role: item.role } as const;
  }
  return item.type === "function_call_output"
    ? ({ content: item.output, path: `input[${at}].output`, role: "tool" } as const)
    : undefined;
}

interface Placed<P> {
  readonly part: P;
  readonly path: string;
  readonly role: "user" | "system" | "developer" | "assistant" | "tool";
}

function partsOf(items: readonly ResponsesItem[]): readonly Placed<ResponsesPart>[] {
  return items.flatMap((item, at) => {
    const found = contentOf(item, at);
    if (found === undefined || typeof found.content === "string") return [];
    const { content, path, role } = found;
    return content.map((part, index) => ({ part, role, path: `${path}[${index}]` }));
  });
}

function ofType<T extends ResponsesPart["type"]>(items: readonly ResponsesItem[], type: T) {
  return partsOf(items).filter(
    (placed): placed is Placed<Extract<ResponsesPart, { type: T }>> => placed.part.type === type,
  );
}

/** The paths of all images. */
export const imagesOf = (items: readonly ResponsesItem[]): readonly string[] =>
  ofType(items, "input_image").map(({ path }) => `${path}.image_url`);

/** An output may be empty: a tool can give nothing back. */
function textFaults(item: ResponsesItem, at: number): readonly Fault[] {
  const found = contentOf(item, at);
  if (found === undefined) return [];
  const { content, path, role } = found;
  if (typeof content === "string") {
    return role === "tool" && content === "" ? [] : lengthFaults(content, path, maxTextLength);
  }
  const texts = content.flatMap((part, index) => {
    if (part.type === "refusal")
      return lengthFaults(part.refusal, `${path}[${index}].refusal`, maxTextLength);
    return "text" in part ? lengthFaults(part.text, `${path}[${index}].text`, maxTextLength) : [];
  });
  return [...emptyArray(content, path), ...texts];
}

const outputTypes: readonly ResponsesPart["type"][] = ["output_text", "refusal"];
const inputTypes: readonly ResponsesPart["type"][] = ["input_text", "input_image", "input_file"];
const read = "(read as a stored copy, 2026-11-21)";
const guide = (name: string) => `https://developers.openai.com/api/docs/guides/${name}`;

/** What items may hold. */
export const responsesContentRules: readonly OpenaiRule[] = [
  {
    id: "texts",
    code: "string_above_max_length",
    source: `https://github.com/VectorlyApp/bluebox/issues/31 ${read}`,
    check: checkResponses((body) => itemsOf(body).flatMap(textFaults)),
  },
  {
    id: "parts-of-roles",
    code: "invalid_value",
    source: `https://github.com/jeremychone/rust-genai/pull/119 ${read}`,
    check: checkResponses((body) =>
      partsOf(itemsOf(body)).flatMap(({ part, role, path }) => {
        const types = role === "assistant" ? outputTypes : inputTypes;
        if (types.includes(part.type)) return [];
        const problem = `Invalid value: '${part.type}'. Supported values are: ${types.map((type) => `'${type}'`).join(" and ")}.`;
        return [{ path, problem }];
      }),
    ),
  },
  {
    id: "image-sources",
    code: "missing_required_parameter",
    source:
      "https://platform.openai.com/docs/api-reference/responses/create: an image is a URL or a file id (types of openai 6.49, read 2026-11-21)",
    check: checkResponses((body) =>
      ofType(itemsOf(body), "input_image").flatMap(({ part, path }) => {
        if (typeof part.image_url === "string" || typeof part.file_id === "string") return [];
        return [{ path: `${path}.image_url`, problem: `Missing required parameter: '${path}.image_url'.` }];
      }),
    ),
  },
  {
    id: "image-urls",
    code: "invalid_value",
    source: `https://github.com/anomalyco/opencode/issues/23983 and https://github.com/mkht/PSOpenAI/issues/43 ${read}`,
    check: checkResponses((body) =>
      ofType(itemsOf(body), "input_image").flatMap(({ part, path }) => {
        const got = typeof part.image_url === "string" ? notImageUrl(part.image_url) : undefined;
        const at = `${path}.image_url`;
        const problem = `Invalid '${at}'. Expected a base64-encoded data URL with an image MIME type (e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got ${got}.`;
        return got === undefined ? [] : [{ path: at, problem }];
      }),
    ),
  },
  {
    id: "image-bytes",
    code: null,
    param: null,
    source: `${guide("images-vision")} and https://github.com/acoyfellow/my-ax/issues/89 ${read}`,
    check: checkResponses((body) =>
      ofType(itemsOf(body), "input_image").flatMap(({ part, path }) => {
        const url = part.image_url ?? "https://example.com/";
        const problem =
          "The image data you provided does not represent a valid image. Please check your input and try again with one of the supported image formats: ['image/jpeg', 'image/png', 'image/gif', 'image/webp'].";
        return notImageUrl(url) !== undefined || isStillImage(url)
          ? []
          : [{ path: `${path}.image_url`, problem }];
      }),
    ),
  },
  {
    id: "files-whole",
    code: "missing_required_parameter",
    source: `https://github.com/laravel/ai/pull/324 ${read}`,
    check: checkResponses((body) =>
      ofType(itemsOf(body), "input_file").flatMap(({ part, path }) => {
        if (typeof part.file_id === "string" || part.file_url !== undefined) return [];
        const missing =
          part.file_data === undefined ? "file_data" : part.filename === undefined ? "filename" : undefined;
        const at = `${path}.${missing}`;
        return missing === undefined ? [] : [{ path: at, problem: `Missing required parameter: '${at}'.` }];
      }),
    ),
  },
  {
    id: "file-data",
    code: "invalid_value",
    source: `${guide("file-inputs")} and https://github.com/vercel/ai/issues/7776 ${read}`,
    check: checkResponses((body) =>
      ofType(itemsOf(body), "input_file").flatMap(({ part, path }) => {
        const data = part.file_data;
        if (data === undefined) return [];
        const got = notFileData(data) ?? (isNamedFile(data) ? undefined : "bytes of another type");
        const at = `${path}.file_data`;
        const problem = `Invalid file data: '${at}'. Expected a base64-encoded data URL with a valid file MIME type (e.g. 'data:text/plain;base64,SGVsbG8sIFdvcmxkIQ=='), but got ${got}.`;
        return got === undefined ? [] : [{ path: at, problem }];
      }),
    ),
  },
];
