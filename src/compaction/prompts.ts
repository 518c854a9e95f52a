import type { SummaryPrompt } from "./strategy.js";

const none: SummaryPrompt = { system: "", instructions: "", update: "", maxTokens: 8_192 };

/** The rolling checkpoint: Goal, Constraints & Preferences, Progress, Key Decisions, Next Steps, Critical Context. */
export const checkpointPrompt: SummaryPrompt = { ...none, maxTokens: 13_107 };

/** The first part of a turn whose rest stays: Original Request, Progress So Far, Context Needed to Continue. */
export const turnPrefixPrompt: SummaryPrompt = none;

/** A handoff to another model: progress and decisions, context and preferences, remaining steps, critical data. */
export const handoffPrompt: SummaryPrompt = none;

/** Goal, Instructions, Discoveries, Accomplished, Relevant files / directories. */
export const continuationPrompt: SummaryPrompt = none;

/** A branch that was left: Goal, Constraints & Preferences, Progress, Key Decisions, Next Steps. */
export const branchPrompt: SummaryPrompt = none;
