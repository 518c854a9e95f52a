/** The names that each subpath promises its users: none of them goes without a major version. */
export const promisedNames: Readonly<Record<string, readonly string[]>> = {
  "sessile/errors": ["SessileError"],
  "sessile/content": [
    "userMessage",
    "assistantMessage",
    "toolResult",
    "contextOf",
    "asUserMessage",
    "resourceOf",
    "toolCalls",
    "toolPairs",
    "describeResource",
  ],
  "sessile/estimate": ["estimateTextTokens", "estimateImageTokens", "estimateMessageTokens"],
  "sessile/limits": ["limitProfiles", "checkLimits"],
  "sessile/session": [
    "parseSession",
    "encodeEntry",
    "SessionTree",
    "buildSessionContext",
    "sessionStore",
    "memorySessionStore",
    "customEntry",
  ],
  "sessile/session/schema": ["sessionEntrySchema", "sessionHeaderSchema"],
  "sessile/session/node": ["fileSessionStore"],
  "sessile/session/conformance": ["sessionStoreConformance"],
};
