import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import type { BlobStore } from "sessile/blobs";
import type { AssistantMessage, Context } from "sessile/content";
import { project } from "sessile/projections";
import { anthropicMessages, readAnthropicReply } from "sessile/projections/anthropic";
import { geminiContents, readGeminiReply } from "sessile/projections/gemini";
import { openaiResponses, readOpenaiResponsesReply } from "sessile/projections/openai";
import { models } from "./every-target.js";

const maxTokens = 1024;

/** Asks every provider whose key is in the environment, and gives what they answered. */
export async function sendForReal(
  context: Context,
  blobs: Pick<BlobStore, "get">,
): Promise<readonly AssistantMessage[]> {
  const { ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY } = process.env;
  const answers: AssistantMessage[] = [];
  if (ANTHROPIC_API_KEY !== undefined) {
    const model = models.anthropic;
    const { value } = await project(context, anthropicMessages({ model }), { blobs });
    const reply = await new Anthropic().messages.create({ model, max_tokens: maxTokens, ...value });
    answers.push(readAnthropicReply(reply, { model }));
  }
  if (OPENAI_API_KEY !== undefined) {
    const model = models.openai;
    const { value } = await project(context, openaiResponses({ model }), { blobs });
    const include = ["reasoning.encrypted_content" as const];
    const reply = await new OpenAI().responses.create({ model, store: false, include, ...value });
    answers.push(readOpenaiResponsesReply(reply, { model }));
  }
  if (GEMINI_API_KEY !== undefined) {
    const model = models.gemini;
    const { value } = await project(context, geminiContents({ model }), { blobs });
    const { contents, ...config } = value;
    const client = new GoogleGenAI({ apiKey: GEMINI_API_KEY });
    const reply = await client.models.generateContent({ model, contents, config });
    answers.push(readGeminiReply(reply, { model }));
  }
  return answers;
}
