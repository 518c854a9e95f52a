/** What the Interactions API asks of a request with `store: false`, and a server that keeps it. */
import { decodeBase64, isRecord } from "../../plain-values.js";
import { decodedMedia, isOfType } from "../bytes-of-type.js";
import {
  type ProviderServer,
  type ReceivedRequest,
  serverSentEvents,
  startProvider,
} from "../local-server.js";
import { type Breach, breaches, type Fault, type ProviderRule } from "../rule.js";
import { interactionStreamed } from "../streamed.js";
import { malformedStrings } from "../well-formed.js";

/** A call of `interactions.create` as it came over the wire. */
export interface InteractionRequest {
  readonly bytes: number;
  readonly body: Fields;
}

type Fields = Readonly<Record<string, unknown>>;
type Rule = ProviderRule<InteractionRequest>;

const pages = "https://ai.google.dev/gemini-api/docs/interactions";
const client = "types of https://www.npmjs.com/package/@google/genai 3.3.0";
const adapter = "the Google adapter of https://github.com/apostrophecms/apostrophe";
const read = "(read 2026-11-28)";

const list = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value : []).map(record);
const record = (value: unknown): Fields => (isRecord(value) ? value : {});
const stepsOf = ({ body }: InteractionRequest) => list(body.input);
const isText = (value: unknown): value is string => typeof value === "string" && value !== "";

/** A fault of each step that has one. */
const eachStep =
  (
    problem: (
      step: Fields,
      at: number,
      all: readonly Fields[],
      request: InteractionRequest,
    ) => string | undefined,
  ) =>
  (request: InteractionRequest): readonly Fault[] =>
    stepsOf(request).flatMap((step, at, all) => {
      const found = problem(step, at, all, request);
      return found === undefined ? [] : [{ path: `input[${at}]`, problem: found }];
    });

/** The members of each step that the client lists; `signature` is on the wire of calls too. */
const members: Readonly<Record<string, readonly string[]>> = {
  user_input: ["content"],
  model_output: ["content", "error"],
  thought: ["signature", "summary"],
  function_call: ["id", "name", "arguments", "signature"],
  function_result: ["call_id", "name", "result", "is_error"],
};

const known: Rule = {
  id: "steps-are-known",
  source: `${client} ${read}`,
  check: eachStep(({ type, ...fields }, at) => {
    const listed = members[String(type)];
    if (listed === undefined)
      return isText(type) ? undefined : `The value '${type}' is not supported for 'type' at 'input[${at}]'.`;
    const other = Object.keys(fields).find((name) => !listed.includes(name));
    return other === undefined ? undefined : `Unknown parameter '${other}' at 'input[${at}]'.`;
  }),
};

const begins: Rule = {
  id: "the-user-begins",
  source: `${pages}, in all samples ${read}`,
  check: ({ body }) =>
    list(body.input)[0]?.type === "user_input" ? [] : [{ path: "input[0]", problem: "The user begins." }],
};

const contents: Rule = {
  id: "contents-are-given",
  source: `${client}: required members ${read}`,
  check: eachStep(({ type, content, result }) => {
    const given = type === "function_result" ? result : content;
    if (type !== "user_input" && type !== "model_output" && type !== "function_result") return undefined;
    if (!Array.isArray(given) || given.length === 0) return "Invalid input: there is no content.";
    const isWrong = list(given).some(
      (one) => !isText(one.type) || (one.type === "text" && typeof one.text !== "string"),
    );
    return isWrong ? "Invalid input: a content without its text or type." : undefined;
  }),
};

const pairs: Rule = {
  id: "calls-have-their-results",
  source: `${pages}/function-calling, and ${adapter}: a result names its function ${read}`,
  check: eachStep((step, at, all) => {
    const { type, id, name, call_id } = step;
    if (type === "function_call") {
      if (!isText(id) || !isText(name) || !isRecord(step.arguments))
        return "Invalid input: a call without its members.";
      const next = all.findIndex((one, index) => index > at && one.type === "user_input");
      const turn = all.slice(at + 1, next === -1 ? undefined : next);
      const answers = turn.filter((one) => one.type === "function_result" && one.call_id === id);
      return answers.length === 1 ? undefined : `The call '${id}' has ${answers.length} results.`;
    }
    if (type !== "function_result") return undefined;
    const call = all.slice(0, at).findLast((one) => one.type === "function_call" && one.id === call_id);
    return call?.name === name && isText(name) ? undefined : `No call '${call_id}' of '${name}'.`;
  }),
};

const ran: Rule = {
  id: "tools-of-the-api-have-their-results",
  source: `${pages}/google-search: a call and a result with its id ${read}`,
  check: eachStep(({ type, id, call_id }, at, all) => {
    const [tool, kind] = /^(.+)_(call|result)$/.exec(String(type))?.slice(1) ?? [];
    if (tool === undefined || tool === "function") return undefined;
    const is = (end: string, member: string, value: unknown) => (one: Fields) =>
      one.type === `${tool}_${end}` && one[member] === value;
    const rest = all.slice(at + 1);
    if (kind === "result")
      return all.slice(0, at).some(is("call", "id", call_id)) ? undefined : `No call '${call_id}'.`;
    return rest.some(is("result", "call_id", id)) || !rest.some((one) => one.type === "user_input")
      ? undefined
      : `The call '${id}' has no result.`;
  }),
};

const dummy = "skip_thought_signature_validator";
const prefix = "signed by ";

const signatures: Rule = {
  id: "signatures-are-the-models-own",
  source: `${pages}/thinking, and https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/thinking/thought-signatures ${read}`,
  check: eachStep(({ type, signature }, _at, _all, { body }) => {
    if (signature === undefined || signature === dummy)
      return type === "thought" && signature === undefined ? "A thought without its signature." : undefined;
    const bytes = typeof signature === "string" ? decodeBase64(signature) : undefined;
    const text = bytes === undefined ? undefined : new TextDecoder().decode(bytes);
    return text?.startsWith(`${prefix}${body.model}: `) ? undefined : "Thought signature is not valid.";
  }),
};

const thoughts: Rule = {
  id: "calls-follow-a-thought",
  source: `${adapter}: a call that no thought precedes is refused ${read}`,
  check: eachStep(({ type }, at, all, { body }) => {
    if (type !== "function_call" || !/^gemini-[3-9]/.test(String(body.model))) return undefined;
    const turn = all.slice(0, at);
    const begin = turn.findLastIndex((one) => one.type === "user_input" || one.type === "function_result");
    return turn.slice(begin + 1).some((one) => isText(one.signature))
      ? undefined
      : "Function call is missing a thought signature.";
  }),
};

const images = ["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"];

const media: Rule = {
  id: "media-are-what-they-say",
  source: `${client}, ${pages}/image-understanding and ${pages}/document-processing ${read}`,
  check: (request) =>
    stepsOf(request).flatMap(({ type, content, result }, at) =>
      list(type === "function_result" ? result : content).flatMap(
        ({ type: kind, mime_type, data, uri }, index) => {
          if (kind !== "image" && kind !== "document" && kind !== "audio") return [];
          const path = `input[${at}].${type === "function_result" ? "result" : "content"}[${index}]`;
          const isTaken =
            kind === "image"
              ? images.includes(String(mime_type))
              : kind === "audio" || mime_type === "application/pdf";
          if (!isTaken)
            return [{ path: `${path}.mime_type`, problem: `Unsupported MIME type: ${mime_type}` }];
          if (isText(uri) && data === undefined) return [];
          const decoded = decodedMedia(data);
          if (decoded === undefined)
            return [{ path: `${path}.data`, problem: `Invalid input at '${path}.data'.` }];
          const isSound = kind === "audio" || isOfType(decoded, String(mime_type));
          return isSound ? [] : [{ path, problem: `Unable to process input image at '${path}'.` }];
        },
      ),
    ),
};

const results: Rule = {
  id: "only-version-3-takes-media-of-results",
  source: `https://www.philschmid.de/interactions-multimodal-fc ${read}`,
  check: eachStep(({ type, result }, _at, _all, { body }) => {
    const isPlain = type !== "function_result" || list(result).every((one) => one.type === "text");
    return isPlain || !/^gemini-2/.test(String(body.model))
      ? undefined
      : "Multimodal function results are not supported.";
  }),
};

const unicode: Rule = {
  id: "text-is-unicode",
  source: `https://www.rfc-editor.org/rfc/rfc8259#section-8.1 ${read}`,
  check: ({ body }) =>
    malformedStrings(body).map(({ keys }) => ({ path: keys.join("."), problem: "No Unicode." })),
};

const size: Rule = {
  id: "body-size",
  source: `${pages}/file-input-methods: 20 MB inline ${read}`,
  check: ({ bytes }) => (bytes > 20_000_000 ? [{ path: "", problem: "The request is too large." }] : []),
};

const parameters: Rule = {
  id: "parameters-are-known",
  source: `${client}: CreateModelInteraction ${read}`,
  check: ({ body }) =>
    Object.keys(body)
      .filter((name) => !parameterNames.includes(name))
      .map((path) => ({ path, problem: `Unknown parameter '${path}'.` })),
};

const parameterNames = [
  ...["model", "input", "system_instruction", "store", "stream", "tools", "generation_config"],
];

export const interactionRules: readonly Rule[] = [
  ...[parameters, known, begins, contents, pairs, ran, signatures, thoughts, media, results, unicode, size],
];

/** What the server answers, in turn. The last is given again and again. */
export function startInteractions(script: readonly Fields[]): Promise<ProviderServer> {
  let asked = 0;
  return startProvider({
    breaches: ({ path, bytes, body }: ReceivedRequest): readonly Breach[] => {
      if (!/\/interactions$/.test(path) || !isRecord(body))
        return [{ rule: "address", path, problem: "not found" }];
      return breaches({ bytes: bytes.length, body }, interactionRules);
    },
    reply: ({ body }) => {
      const json = script[Math.min(asked++, script.length - 1)] ?? {};
      return record(body).stream === true ? serverSentEvents(interactionStreamed(json, 5)) : { json };
    },
    refuse: ({ problem }) => ({
      status: 400,
      json: { error: { message: problem, code: "invalid_request" } },
    }),
  });
}
