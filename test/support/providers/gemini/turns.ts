import type { Fault, ProviderRule } from "../rule.js";
import { contentsOf, type GeminiRequest, versionOf, type WireContent } from "./wire.js";

type Rule = ProviderRule<GeminiRequest>;

const cli = "https://github.com/google-gemini/gemini-cli";
const calls = (content: WireContent | undefined) => content?.parts.filter(({ call }) => call) ?? [];
const responses = (content: WireContent | undefined) =>
  content?.parts.filter(({ response }) => response) ?? [];

const isThere: Rule = {
  id: "contents-are-there",
  source: "https://ai.google.dev/api/generate-content (contents[] is required; read 2026-11-21)",
  check: (request) =>
    contentsOf(request).length > 0
      ? []
      : [{ path: "contents", problem: "* GenerateContentRequest.contents: contents is not specified\n" }],
};

const roles: Rule = {
  id: "roles-are-user-or-model",
  source:
    "https://ai.google.dev/api/caching#Content and https://github.com/genkit-ai/genkit/pull/5780 (read 2026-11-21)",
  check: (request) =>
    contentsOf(request)
      .filter(({ role }) => role !== "user" && role !== "model")
      .map(({ path }) => ({ path: `${path}.role`, problem: "Please use a valid role: user, model." })),
};

const sides: Rule = {
  id: "calls-are-the-models-and-responses-the-users",
  source: "https://ai.google.dev/gemini-api/docs/function-calling (read 2026-11-21)",
  check: (request) =>
    contentsOf(request).flatMap(({ role, parts }) =>
      parts
        .filter(({ call, response }) => (call && role !== "model") || (response && role !== "user"))
        .map(({ path }) => ({ path, problem: "Request contains an invalid argument." })),
    ),
};

const callsFollow: Rule = {
  id: "calls-follow-a-user-turn",
  source: `${cli}/issues/11814 and ${cli}/issues/26956 (read 2026-11-21)`,
  check: (request) => {
    const contents = contentsOf(request);
    return contents
      .filter((content, at) => calls(content).length > 0 && contents[at - 1]?.role !== "user")
      .map(({ path }) => ({
        path,
        problem:
          "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
      }));
  },
};

const responsesFollow: Rule = {
  id: "responses-follow-their-calls",
  source: "https://github.com/langchain-ai/langchain/issues/27799 (read 2026-11-21)",
  check: (request) => {
    const contents = contentsOf(request);
    return contents
      .filter((content, at) => responses(content).length > 0 && calls(contents[at - 1]).length === 0)
      .map(({ path }) => ({
        path,
        problem: "Please ensure that function response turn comes immediately after a function call turn.",
      }));
  },
};

const asMany: Rule = {
  id: "as-many-responses-as-calls",
  source: `${cli}/issues/16543 and https://github.com/microsoft/vscode/issues/299295 (read 2026-11-21)`,
  check: (request) => {
    const contents = contentsOf(request);
    return contents
      .filter(
        (content, at) =>
          calls(content).length !== responses(contents[at + 1]).length && calls(content).length > 0,
      )
      .map(({ path }) => ({
        path,
        problem:
          "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
      }));
  },
};

const alone: Rule = {
  id: "responses-stand-alone",
  source:
    "https://github.com/vellum-ai/vellum-assistant/pull/39495 (seen with gemini-3.6-flash; read 2026-11-21)",
  check: (request) =>
    contentsOf(request)
      .filter((content) => responses(content).length > 0 && responses(content).length < content.parts.length)
      .map(({ path }) => ({ path, problem: "Requests ending with a model turn are not supported." })),
};

/** Which response answers a call: the one at its place. */
function pairs(request: GeminiRequest): readonly { call: Fields; response: Fields; path: string }[] {
  const contents = contentsOf(request);
  return contents.flatMap((content, at) => {
    const answers = responses(contents[at + 1]);
    return calls(content).flatMap(({ call = {} }, index) => {
      const answer = answers[index];
      return answer?.response ? [{ call, response: answer.response, path: answer.path }] : [];
    });
  });
}
type Fields = Readonly<Record<string, unknown>>;

const ids: Rule = {
  id: "responses-have-the-calls-id",
  source:
    "https://ai.google.dev/gemini-api/docs/function-calling and https://github.com/router-for-me/CLIProxyAPI/issues/5199 (read 2026-11-21)",
  check: (request) =>
    pairs(request)
      .filter(({ call, response }) => call.id !== response.id)
      .map(({ path }) => ({
        path: `${path}.function_response.id`,
        problem: "functionResponse.id does not match functionCall.id",
      })),
};

const uniqueIds: Rule = {
  id: "ids-are-unique-in-a-turn",
  source: "https://ai.google.dev/api/caching#FunctionCall (the unique id; read 2026-11-21)",
  check: (request) =>
    contentsOf(request).flatMap((content) => {
      const seen = new Set<unknown>();
      return calls(content).flatMap(({ call, path }): Fault[] => {
        const id = call?.id;
        if (id === undefined || !seen.has(id)) {
          seen.add(id);
          return [];
        }
        return [{ path: `${path}.function_call.id`, problem: "Request contains an invalid argument." }];
      });
    }),
};

const names: Rule = {
  id: "responses-have-the-calls-name",
  source: "https://ai.google.dev/api/caching#FunctionResponse (name; read 2026-11-21)",
  check: (request) =>
    pairs(request)
      .filter(({ call, response }) => call.name !== response.name)
      .map(({ path }) => ({
        path: `${path}.function_response.name`,
        problem: "Request contains an invalid argument.",
      })),
};

const endsWithUser: Rule = {
  id: "newer-models-want-the-last-word-from-the-user",
  source:
    "https://github.com/LibreChat-AI/agents/pull/323 (gemini-3.6-flash, gemini-3.5-flash-lite) and https://github.com/pipecat-ai/pipecat/pull/5821 (read 2026-11-21)",
  check: (request) => {
    const { model } = request;
    const last = contentsOf(request).at(-1);
    const strict = versionOf(model) > 3.5 || model.includes("3.5-flash-lite");
    return strict && last?.role === "model"
      ? [{ path: last.path, problem: "Requests ending with a model turn are not supported." }]
      : [];
  },
};

/** Who speaks when, and calls with their responses. */
export const turnRules: readonly Rule[] = [
  isThere,
  roles,
  sides,
  callsFollow,
  responsesFollow,
  asMany,
  alone,
  ids,
  uniqueIds,
  names,
  endsWithUser,
];
