import type { Fault } from "../../rule.js";
import { isNamedFile, isStillImage, notFileData, notImageUrl } from "../media.js";
import type { OpenaiRule } from "../rule.js";
import { maxTextLength } from "../size.js";
import { emptyArray, lengthFaults } from "../text.js";
import { type ChatMessage, type ChatPart, checkChat } from "./shape.js";

interface Placed<P> {
  readonly part: P;
  readonly path: string;
  readonly role: ChatMessage["role"];
}

/** Every part of every message, with its path. */
function partsOf(messages: readonly ChatMessage[]): readonly Placed<ChatPart>[] {
  return messages.flatMap(({ content, role }, at) =>
    Array.isArray(content)
      ? content.map((part, index) => ({ part, role, path: `messages[${at}].content[${index}]` }))
      : [],
  );
}

function ofType<T extends ChatPart["type"]>(messages: readonly ChatMessage[], type: T) {
  return partsOf(messages).filter(
    (placed): placed is Placed<Extract<ChatPart, { type: T }>> => placed.part.type === type,
  );
}

/** The paths of all images. */
export const imagesOf = (messages: readonly ChatMessage[]): readonly string[] =>
  ofType(messages, "image_url").map(({ path }) => `${path}.image_url.url`);

function textFaults({ content }: ChatMessage, at: number): readonly Fault[] {
  const path = `messages[${at}].content`;
  if (typeof content === "string") return lengthFaults(content, path, maxTextLength);
  if (!Array.isArray(content)) return [];
  const texts = content.flatMap((part, index) => {
    if (part.type === "text") return lengthFaults(part.text, `${path}[${index}].text`, maxTextLength);
    return part.type === "refusal"
      ? lengthFaults(part.refusal, `${path}[${index}].refusal`, maxTextLength)
      : [];
  });
  return [...emptyArray(content, path), ...texts];
}

const allowed: Readonly<Record<ChatMessage["role"], readonly ChatPart["type"][]>> = {
  system: ["text"],
  developer: ["text"],
  tool: ["text"],
  assistant: ["text", "refusal"],
  user: ["text", "image_url", "file"],
};

const read = "(read as a stored copy, 2026-11-21)";
const guide = (name: string) => `https://developers.openai.com/api/docs/guides/${name}`;

/** What messages may hold. */
export const chatContentRules: readonly OpenaiRule[] = [
  {
    id: "messages-not-empty",
    code: "empty_array",
    source: `https://github.com/CopilotKit/CopilotKit/issues/529 ${read}`,
    check: checkChat(({ messages }) => emptyArray(messages, "messages")),
  },
  {
    id: "assistant-says-something",
    code: null,
    source: `https://github.com/run-llama/llama_index/pull/17921 ${read}`,
    check: checkChat(({ messages }) =>
      messages.flatMap((message, at) =>
        message.role === "assistant" &&
        message.tool_calls === undefined &&
        typeof message.refusal !== "string" &&
        (message.content === null || message.content === undefined)
          ? [
              {
                path: `messages.[${at}].content`,
                problem: "Invalid value for 'content': expected a string, got null.",
              },
            ]
          : [],
      ),
    ),
  },
  {
    id: "texts",
    code: "string_above_max_length",
    source: `https://github.com/FlowiseAI/Flowise/issues/5085, and the schema's minItems https://github.com/openai/openai-python/issues/1812 ${read}`,
    check: checkChat(({ messages }) => messages.flatMap(textFaults)),
  },
  {
    id: "images-from-users",
    code: "invalid_value",
    source: `https://github.com/OpenHands/OpenHands/issues/7700 ${read}`,
    check: checkChat(({ messages }) =>
      ofType(messages, "image_url").flatMap(({ role, path }) => {
        if (role === "user") return [];
        const at = path.replace(/\.content.*$/, "");
        const problem = `Invalid '${at}'. Image URLs are only allowed for messages with role 'user', but this message with role '${role}' contains an image URL.`;
        return [{ path: at, problem }];
      }),
    ),
  },
  {
    id: "parts-of-roles",
    code: "invalid_value",
    source:
      "https://platform.openai.com/docs/api-reference/chat/create: content parts of each role (types of openai 6.49, read 2026-11-21)",
    check: checkChat(({ messages }) =>
      partsOf(messages).flatMap(({ part, role, path }) =>
        part.type === "image_url" || allowed[role].includes(part.type)
          ? []
          : [
              {
                path: `${path}.type`,
                problem: `Invalid value: '${part.type}'. Supported values are: ${allowed[role].map((type) => `'${type}'`).join(" and ")}.`,
              },
            ],
      ),
    ),
  },
  {
    id: "refusals-alone",
    code: "invalid_value",
    source:
      "https://platform.openai.com/docs/api-reference/chat/create: the list of an assistant's parts has texts or one refusal (read as a stored copy, 2026-11-21)",
    check: checkChat(({ messages }) =>
      messages.flatMap(({ role, content }, at) =>
        role === "assistant" &&
        Array.isArray(content) &&
        content.length > 1 &&
        content.some(({ type }) => type === "refusal")
          ? [{ path: `messages.[${at}].content`, problem: "Invalid value: expected texts or one refusal." }]
          : [],
      ),
    ),
  },
  {
    id: "image-urls",
    code: "invalid_value",
    source: `https://github.com/Alibaba-NLP/OmniSearch/issues/3 ${read}`,
    check: checkChat(({ messages }) =>
      ofType(messages, "image_url").flatMap(({ part, path }) => {
        const got = notImageUrl(part.image_url.url);
        const at = `${path}.image_url.url`;
        const problem = `Invalid image URL: '${at}'. Expected a base64-encoded data URL with an image MIME type (e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got ${got}.`;
        return got === undefined ? [] : [{ path: at, problem }];
      }),
    ),
  },
  {
    id: "image-bytes",
    code: "invalid_image_format",
    param: null,
    source: `${guide("images-vision")} and https://github.com/STranslate/STranslate/issues/277 ${read}`,
    check: checkChat(({ messages }) =>
      ofType(messages, "image_url").flatMap(({ part, path }) => {
        const { url } = part.image_url;
        const problem =
          "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].";
        return notImageUrl(url) !== undefined || isStillImage(url)
          ? []
          : [{ path: `${path}.image_url.url`, problem }];
      }),
    ),
  },
  {
    id: "files-whole",
    code: "missing_required_parameter",
    source: `https://github.com/openai/openai-agents-python/pull/1513 ${read}`,
    check: checkChat(({ messages }) =>
      ofType(messages, "file").flatMap(({ part, path }) => {
        const { filename, file_data, file_id } = part.file;
        if (file_id !== undefined || (file_data !== undefined && filename !== undefined)) return [];
        const at = `${path}.file.file_id`;
        return [{ path: at, problem: `Missing required parameter: '${at}'.` }];
      }),
    ),
  },
  {
    id: "files-are-pdf",
    code: "invalid_value",
    source: `${guide("file-inputs")} and https://github.com/vercel/ai/issues/7266 ${read}`,
    check: checkChat(({ messages }) =>
      ofType(messages, "file").flatMap(({ part, path }) => {
        const data = part.file.file_data;
        if (data === undefined) return [];
        const got =
          notFileData(data, ["application/pdf"]) ?? (isNamedFile(data) ? undefined : "bytes that are no PDF");
        const at = `${path}.file.file_data`;
        const problem = `Invalid file data: '${at}'. Expected a base64-encoded data URL with an application/pdf MIME type (e.g. 'data:application/pdf;base64,SGVsbG8sIFdvcmxkIQ=='), but got ${got}.`;
        return got === undefined ? [] : [{ path: at, problem }];
      }),
    ),
  },
];
