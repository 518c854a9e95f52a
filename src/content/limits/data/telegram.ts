/** Limits of the Telegram Bot API. */

import type { LimitProfile } from "../profile.js";

/** The Telegram Bot API: photos and documents that a bot sends, and files that it downloads. */
export const telegram: LimitProfile = /* @__PURE__ */ (() => {
  const page = {
    evidence: "documented",
    asOf: "2026-11-21",
    source: "https://core.telegram.org/bots/api",
  } as const;
  const photo = { transport: ["photo"] };
  return {
    name: "telegram",
    transports: ["photo", "document", "download"],
    rows: [
      { rule: "imageBytes", value: 10_000_000, unit: "decodedBytes", scope: "item", when: photo, ...page },
      { rule: "imageSideSum", value: 10_000, unit: "pixels", scope: "item", when: photo, ...page },
      { rule: "imageRatio", value: 20, unit: "ratio", scope: "item", when: photo, ...page },
      {
        rule: "fileBytes",
        value: 50_000_000,
        unit: "decodedBytes",
        scope: "item",
        when: { transport: ["document"] },
        ...page,
      },
      {
        rule: "fileBytes",
        value: 20_000_000,
        unit: "decodedBytes",
        scope: "item",
        when: { transport: ["download"] },
        ...page,
        note: "getFile",
      },
      {
        rule: "textCharacters",
        value: 1024,
        unit: "characters",
        scope: "message",
        when: { transport: ["photo", "document"] },
        ...page,
        note: "the caption, after entities are parsed",
      },
    ],
  };
})();
