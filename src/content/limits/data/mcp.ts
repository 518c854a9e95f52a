/** Limits of the Model Context Protocol. */

import type { LimitProfile } from "../profile.js";

/** A message of the Model Context Protocol, such as a prompt or a tool's result. */
export const mcp: LimitProfile = {
  name: "mcp",
  transports: ["stdio", "http"],
  rows: [
    {
      rule: "bodyBytes",
      value: 10_485_760,
      unit: "bodyBytes",
      scope: "request",
      when: { transport: ["stdio"] },
      evidence: "measured",
      asOf: "2026-11-21",
      source: "https://github.com/modelcontextprotocol/typescript-sdk/pull/2239",
      note: "what @modelcontextprotocol/sdk reads of one message by default, from 1.30 on; a larger one closes the connection",
    },
  ],
};
