import { type Breach, breaches } from "../../rule.js";
import type { OpenaiRule } from "../rule.js";
import { bodyFaults, imageCountFaults } from "../size.js";
import { brokenText, nameFaults } from "../text.js";
import { chatContentRules, imagesOf } from "./content.js";
import { chatPairRules } from "./pairs.js";
import { chatShapeRules, checkChat } from "./shape.js";

const read = "(read as a stored copy, 2026-11-21)";

const chatSizeRules: readonly OpenaiRule[] = [
  {
    id: "names",
    code: "invalid_value",
    source: `https://github.com/jekalmin/extended_openai_conversation/issues/251 ${read}`,
    check: checkChat(({ messages }) =>
      messages.flatMap((message, at) =>
        message.role !== "tool" && message.name !== undefined
          ? nameFaults(message.name, `messages[${at}].name`, 64)
          : [],
      ),
    ),
  },
  {
    id: "well-formed",
    code: null,
    param: null,
    source: `https://www.rfc-editor.org/rfc/rfc8259 section 8.2; refusals at https://github.com/JohnnyZ93/oai-compatible-copilot/pull/271 ${read}`,
    check: (body) => brokenText(body, []),
  },
  {
    id: "image-count",
    code: "invalid_value",
    param: "messages",
    source: `https://github.com/earendil-works/pi/pull/120: 500, as in src/content/limits/profiles.ts ${read}`,
    check: checkChat(({ messages }) => imageCountFaults(imagesOf(messages))),
  },
  {
    id: "body-bytes",
    code: null,
    param: null,
    source: `https://developers.openai.com/api/docs/guides/images-vision: 50 MB, as in src/content/limits/profiles.ts ${read}`,
    check: bodyFaults,
  },
];

/** What Chat Completions asks of a request. A file of 50 MB is no rule: its base64 is over the body's bound before. */
export const chatRules: readonly OpenaiRule[] = [
  ...chatShapeRules,
  ...chatPairRules,
  ...chatContentRules,
  ...chatSizeRules,
];

/** What a body of Chat Completions breaks. */
export const chatBreaches = (body: unknown): readonly Breach[] => breaches(body, chatRules);
