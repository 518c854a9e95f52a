import { isRecord } from "../../plain-values.js";
import type { Fault, ProviderRule } from "../rule.js";
import { malformedStrings } from "../well-formed.js";
import { allParts, contentsOf, type GeminiRequest, list, partsOf } from "./wire.js";

type Rule = ProviderRule<GeminiRequest>;

const api = "https://ai.google.dev/api/caching";
const read = "(read 2026-11-21)";

const notEmpty: Rule = {
  id: "contents-have-parts",
  source: `https://github.com/vercel/ai/issues/3775 ${read}`,
  check: (request) =>
    contentsOf(request)
      .filter(({ parts }) => parts.length === 0)
      .map(({ path }) => ({
        path: `${path}.parts`,
        problem: `* GenerateContentRequest.${path}.parts: contents.parts must not be empty.\n`,
      })),
};

const dataFields = [
  "text",
  "inlineData",
  "functionCall",
  "functionResponse",
  "fileData",
  "executableCode",
  "codeExecutionResult",
  "toolCall",
  "toolResponse",
];

const oneData: Rule = {
  id: "a-part-is-one-thing",
  source: `${api}#Part and https://github.com/router-for-me/CLIProxyAPI/issues/1292 ${read}`,
  check: (request) =>
    allParts(request)
      .filter(({ fields }) => dataFields.filter((name) => fields[name] !== undefined).length !== 1)
      .map(({ path }) => ({
        path: `${path}.data`,
        problem: `* GenerateContentRequest.${path}.data: required oneof field 'data' must have one initialized field\n`,
      })),
};

/** A signature may come alone, on a text of nothing. */
const noEmptyText: Rule = {
  id: "text-is-not-empty",
  source: `https://github.com/zuisong/gemini-openai-proxy/issues/83 and, for the exception, https://ai.google.dev/gemini-api/docs/thought-signatures ${read}`,
  check: (request) =>
    allParts(request)
      .filter(({ fields }) => fields.text === "" && fields.thoughtSignature === undefined)
      .map(({ path }) => ({
        path: `${path}.text`,
        problem: "Unable to submit request because it has an empty text parameter.",
      })),
};

const known: Readonly<Record<string, readonly string[]>> = {
  part: [...dataFields, "thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata"],
  functionCall: ["id", "name", "args"],
  functionResponse: ["id", "name", "response", "parts", "willContinue", "scheduling"],
  inlineData: ["mimeType", "data"],
  fileData: ["mimeType", "fileUri"],
};

const knownFields: Rule = {
  id: "fields-are-known",
  source: `${api}#Part; https://github.com/brightwave-inc/tidebreak/pull/1535 shows the refusal ${read}`,
  check: (request) =>
    allParts(request).flatMap(({ path, fields }) => [
      ...unknown(path, "part", fields),
      ...Object.keys(known).flatMap((name) =>
        isRecord(fields[name]) ? unknown(`${path}.${snake(name)}`, name, fields[name]) : [],
      ),
    ]),
};

function unknown(path: string, kind: string, fields: Readonly<Record<string, unknown>>): readonly Fault[] {
  return Object.keys(fields)
    .filter((name) => known[kind]?.includes(name) !== true)
    .map((name) => ({
      path,
      problem: `Invalid JSON payload received. Unknown name "${name}" at '${path}': Cannot find field.`,
    }));
}

/** Fields as Google's messages write them. */
const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const functionNames: Rule = {
  id: "function-names",
  source: `${api}#FunctionCall (name) and https://github.com/kaitranntt/ccs/issues/25 (the refusal, of declarations) ${read}`,
  check: (request) =>
    allParts(request).flatMap(({ path, call, response }) => {
      const name = (call ?? response)?.name;
      if (call === undefined && response === undefined) return [];
      const place = `${path}.${call ? "function_call" : "function_response"}.name`;
      if (typeof name !== "string" || name === "") {
        return [{ path: place, problem: `* GenerateContentRequest.${place}: Name cannot be empty.\n` }];
      }
      if (/^[A-Za-z_][\w.:-]{0,63}$/.test(name)) return [];
      return [
        { path: place, problem: `* GenerateContentRequest.${place}: [FIELD_INVALID] Invalid function name.` },
      ];
    }),
};

const structs: Rule = {
  id: "arguments-and-responses-are-objects",
  source: `${api}#FunctionCall (args) and ${api}#FunctionResponse (response), both of format Struct ${read}`,
  check: (request) =>
    allParts(request).flatMap(({ path, call, response }) => [
      ...(call?.args === undefined || isRecord(call.args) ? [] : [struct(`${path}.function_call.args`)]),
      ...(response === undefined || isRecord(response.response)
        ? []
        : [struct(`${path}.function_response.response`)]),
    ]),
};

function struct(path: string): Fault {
  return { path, problem: `Invalid value at '${path}' (type.googleapis.com/google.protobuf.Struct)` };
}

/** Documented for Vertex AI; the Gemini API refuses it whatever stands beside it. */
const noNames: Rule = {
  id: "responses-do-not-refer-to-media",
  source: `https://github.com/googleapis/python-genai/issues/2268 and https://github.com/googleapis/python-genai/issues/2792 ${read}`,
  check: (request) =>
    allParts(request)
      .filter(({ response }) => JSON.stringify(response ?? {}).includes('"$ref"'))
      .map(({ path }) => ({
        path: `${path}.function_response.response`,
        problem:
          "The referenced name in function_response.response does not match to a display_name in the function_response.parts.",
      })),
};

const systemIsText: Rule = {
  id: "system-is-text",
  source: `https://ai.google.dev/api/generate-content (systemInstruction: text only) ${read}`,
  check: ({ body }) => {
    if (body.systemInstruction === undefined) return [];
    const path = "system_instruction";
    const parts = partsOf(body.systemInstruction, path);
    const wrong = parts.filter(({ fields }) => typeof fields.text !== "string" || fields.text === "");
    const problem = "Request contains an invalid argument.";
    return parts.length === 0 ? [{ path, problem }] : wrong.map((part) => ({ path: part.path, problem }));
  },
};

const wellFormed: Rule = {
  id: "text-is-unicode",
  source: `https://protobuf.dev/programming-guides/proto3/#scalar (string) and https://github.com/NousResearch/hermes-agent/pull/102771 ${read}`,
  check: ({ body }) =>
    malformedStrings(body).map(({ keys }) => {
      const path = keys
        .map((key, at) => (typeof key === "number" ? `[${key}]` : `${at === 0 ? "" : "."}${snake(key)}`))
        .join("");
      return { path, problem: `Invalid value at '${path}' (TYPE_STRING), invalid UTF-8` };
    }),
};

const files: Rule = {
  id: "files-have-an-address-and-a-type",
  source: `${api}#FileData ${read}`,
  check: (request) =>
    allParts(request).flatMap(({ path, fields: { fileData }, response }) => [
      ...(isRecord(fileData) && !isFile(fileData)
        ? [{ path: `${path}.file_data`, problem: "Invalid or unsupported file uri." }]
        : []),
      // The Gemini API's own type of a response's part has bytes alone; addresses are Vertex AI's.
      ...list(response?.parts).flatMap((part, at) =>
        isRecord(part) && part.inlineData === undefined
          ? [
              {
                path: `${path}.function_response.parts[${at}]`,
                problem: "Request contains an invalid argument.",
              },
            ]
          : [],
      ),
    ]),
};

function isFile({ fileUri, mimeType }: Readonly<Record<string, unknown>>): boolean {
  return typeof fileUri === "string" && /^(https|gs):\/\/./.test(fileUri) && typeof mimeType === "string";
}

/** What a part is made of. */
export const partRules: readonly Rule[] = [
  notEmpty,
  oneData,
  noEmptyText,
  knownFields,
  functionNames,
  structs,
  noNames,
  systemIsText,
  wellFormed,
  files,
];
