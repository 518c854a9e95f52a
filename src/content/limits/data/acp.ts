/** Limits of the Agent Client Protocol. */

import type { LimitProfile } from "../profile.js";

/** A prompt of the Agent Client Protocol. */
export const acp: LimitProfile = {
  name: "acp",
  transports: ["stdio"],
  rows: [
    {
      rule: "bodyBytes",
      value: 33_554_432,
      unit: "bodyBytes",
      scope: "request",
      evidence: "measured",
      asOf: "2026-11-21",
      source: "https://www.npmjs.com/package/@agentclientprotocol/sdk",
      note: "DEFAULT_MAX_MESSAGE_BYTES of @agentclientprotocol/sdk 2.4.0; a larger message closes the connection. Agents on other SDKs differ: 50 MB for the Python one, https://github.com/agentclientprotocol/python-sdk/pull/59",
    },
  ],
};
