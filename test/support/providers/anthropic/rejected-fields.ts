import { changed, first, type Row } from "./broken.js";
import { pngBlock } from "./valid.js";

/** Fields, types and places of blocks. */
export const rejectedFields: readonly Row[] = [
  ["body-fields", "no model", "model", changed({ model: undefined })],
  ["body-fields", "no number of tokens", "max_tokens", changed({ max_tokens: "many" })],
  ["body-fields", "a field of another API", "n", changed({ n: 2 })],
  ["body-fields", "a role of another API", "messages.5.role", changed({ "messages.5.role": "tool" })],
  [
    "body-fields",
    "a message without content",
    "messages.5.content",
    changed({ "messages.5.content": undefined }),
  ],
  ["message-count", "no messages", "messages", changed({ messages: [] })],
  [
    "block-types",
    "a block of another API",
    first,
    changed({ [first]: { type: "image_url", image_url: {} } }),
  ],
  ["block-types", "a block without type", `${first}.type`, changed({ [first]: { text: "hi" } })],
  [
    "block-places",
    "thinking by the user",
    first,
    changed({ [first]: { type: "thinking", thinking: "a", signature: "b" } }),
  ],
  [
    "block-places",
    "an image by the model",
    "messages.4.content.0",
    changed({ "messages.4.content": [pngBlock()] }),
  ],
  ["block-places", "an image in the system field", "system.0", changed({ system: [pngBlock()] })],
  [
    "block-fields",
    "text without text",
    "messages.5.content.0.text.text",
    changed({ "messages.5.content": [{ type: "text" }] }),
  ],
  [
    "block-fields",
    "a media type that is no image's",
    `${first}.image.source.base64.media_type`,
    changed({ [`${first}.source.media_type`]: "image/bmp" }),
  ],
  [
    "block-fields",
    "a document of another type",
    "messages.0.content.4.document.source.base64.media_type",
    changed({ "messages.0.content.4.source.media_type": "text/csv" }),
  ],
  [
    "block-fields",
    "a source of another API",
    `${first}.image.source`,
    changed({ [`${first}.source`]: { type: "gs", uri: "a" } }),
  ],
  [
    "block-fields",
    "a cache marker on thinking",
    "messages.1.content.0.thinking.cache_control",
    changed({ "messages.1.content.0.cache_control": { type: "ephemeral" } }),
  ],
  [
    "block-fields",
    "thinking without its signature",
    "messages.1.content.0.thinking.signature",
    changed({ "messages.1.content.0.signature": undefined }),
  ],
];
