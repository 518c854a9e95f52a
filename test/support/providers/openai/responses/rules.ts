import { type Breach, breaches } from "../../rule.js";
import type { OpenaiRule } from "../rule.js";
import { bodyFaults, imageCountFaults } from "../size.js";
import { brokenText } from "../text.js";
import { imagesOf, responsesContentRules } from "./content.js";
import { responsesItemRules } from "./items.js";
import { emptyLedger, type ResponsesLedger } from "./ledger.js";
import { responsesPairRules } from "./pairs.js";
import { checkResponses, itemsOf, responsesShapeRules } from "./shape.js";

const read = "(read as a stored copy, 2026-11-21)";

const sizeRules: readonly OpenaiRule[] = [
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
    param: "input",
    source: `https://github.com/earendil-works/pi/pull/120: 500, as in src/content/limits/profiles.ts ${read}`,
    check: checkResponses((body) => imageCountFaults(imagesOf(itemsOf(body)))),
  },
  {
    id: "body-bytes",
    code: null,
    param: null,
    source: `https://developers.openai.com/api/docs/guides/images-vision: 50 MB, as in src/content/limits/profiles.ts ${read}`,
    check: bodyFaults,
  },
];

/** What Responses asks of a request, given what it knows of its own. */
export function responsesRules(ledger: ResponsesLedger = emptyLedger): readonly OpenaiRule[] {
  return [
    ...responsesShapeRules,
    ...responsesPairRules,
    ...responsesItemRules(ledger),
    ...responsesContentRules,
    ...sizeRules,
  ];
}

/** What a body of Responses breaks. */
export const responsesBreaches = (body: unknown, ledger?: ResponsesLedger): readonly Breach[] =>
  breaches(body, responsesRules(ledger));
