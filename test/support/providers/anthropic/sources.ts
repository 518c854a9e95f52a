/** Where rules come from: pages of Anthropic's documentation and refusals that were seen, each read as a stored copy. */
const readOn = "stored copy read 2026-11-21";

const docs = (page: string) => `https://platform.claude.com/docs/en/${page} (${readOn})`;
const issue = (place: string) => `https://github.com/${place} (${readOn})`;

export const sources = {
  citations: docs("build-with-claude/citations"),
  defineTools: docs("agents-and-tools/tool-use/define-tools"),
  errors: docs("api/errors"),
  midConversation: docs("build-with-claude/mid-conversation-system-messages"),
  pdf: docs("build-with-claude/pdf-support"),
  stopReasons: docs("build-with-claude/handling-stop-reasons"),
  thinking: docs("build-with-claude/thinking"),
  thinkingTroubles: docs("build-with-claude/thinking-troubleshooting"),
  vision: docs("build-with-claude/vision"),
  types: "@anthropic-ai/sdk 1.11.0, resources/messages/messages.d.ts",
  answered: issue("anthropics/claude-code/issues/5989"),
  blankText: issue("anthropics/claude-code/issues/23369"),
  cacheOnBlank: issue("anthropics/claude-code/issues/50082"),
  cacheOrder: issue("cnighswonger/claude-code-cache-fix/issues/44"),
  cacheOnThinking: issue("Wei-Shaw/sub2api/issues/225"),
  emptyImage: issue("anthropics/claude-code/issues/12750"),
  serverToolsFirst: issue("vercel/ai/issues/13013"),
  emptyMessage: issue("tidyverse/ellmer/issues/709"),
  endsInThinking: issue("tailcallhq/forgecode/issues/2107"),
  errorResult: issue("can1357/oh-my-pi/issues/12809"),
  fourMarkers: issue("coder/mux/pull/3112"),
  imageSides: issue("frontman-ai/frontman/issues/1094"),
  imageType: issue("home-assistant/core/issues/167208"),
  imageUnreadable: issue("anthropics/claude-code/issues/56016"),
  inputObject: issue("anthropics/anthropic-sdk-typescript/issues/648"),
  orphanResult: issue("anthropics/claude-code/issues/18947"),
  orphanServerResult: issue("anthropics/claude-code/issues/64383"),
  pdfInvalid: issue("anthropics/claude-code/issues/5174"),
  singleResult: issue("QwenLM/qwen-code/pull/8163"),
  surrogate: issue("anthropics/claude-code/issues/60394"),
  rolesOfBlocks: issue("tghamm/Anthropic.SDK/issues/128"),
  toolIdPattern: issue("maximhq/bifrost/issues/5097"),
  toolNameLength: issue("anthropics/claude-code/issues/2673"),
  trailingSpace: issue("langchain-ai/langchain/issues/35071"),
  uniqueIds: issue("anthropics/claude-code/issues/20901"),
} as const;
