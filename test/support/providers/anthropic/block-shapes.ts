import type { Place } from "./request.js";
import {
  anything,
  either,
  type Field,
  fields,
  flag,
  list,
  object,
  oneOf,
  optional,
  tagged,
  text,
} from "./shape.js";

/** The fields of a type of block, and the places that it may stand in. */
export interface BlockShape {
  readonly fields: Readonly<Record<string, Field>>;
  readonly places: readonly Place[];
}

const cacheControl = {
  cache_control: optional(fields({ type: oneOf("ephemeral"), ttl: optional(oneOf("5m", "1h")) })),
};
const byAddress = { url: { url: text }, file: { file_id: text } };
const citations = { citations: optional(fields({ enabled: optional(flag) })) };
/** Text, or blocks, which are looked at one by one. */
const content = either(text, list());

const shownIn = ["user", "tool_result"] as const;
const saidIn = ["assistant"] as const;

const image = {
  source: tagged({
    base64: { data: text, media_type: oneOf("image/jpeg", "image/png", "image/gif", "image/webp") },
    ...byAddress,
  }),
  transformations: optional(object),
  ...cacheControl,
};
const document = {
  source: tagged({
    base64: { data: text, media_type: oneOf("application/pdf") },
    text: { data: text, media_type: oneOf("text/plain") },
    content: { content },
    ...byAddress,
  }),
  title: optional(text),
  context: optional(text),
  ...citations,
  ...cacheControl,
};

/** Which party made a call, and of which set of tools it is. */
const callFields = { caller: optional(object), toolset_name: optional(text) };
const serverResult = {
  fields: { tool_use_id: text, content: anything, caller: optional(object), ...cacheControl },
  places: saidIn,
};

/** Each type of block of the Messages API, without those in beta. What ids, names and input are made of is for the rules of calls. */
export const blockShapes: Readonly<Record<string, BlockShape>> = {
  text: {
    fields: { text, citations: optional(list(object)), ...cacheControl },
    places: ["user", "assistant", "system", "tool_result", "document", "search_result"],
  },
  image: { fields: image, places: [...shownIn, "document"] },
  document: { fields: document, places: shownIn },
  search_result: {
    fields: { source: text, title: text, content: list(), ...citations, ...cacheControl },
    places: shownIn,
  },
  tool_result: {
    fields: {
      tool_use_id: text,
      content: optional(content),
      is_error: optional(flag),
      toolset_name: optional(text),
      ...cacheControl,
    },
    places: ["user"],
  },
  tool_reference: { fields: { tool_name: text, ...cacheControl }, places: ["tool_result"] },
  container_upload: { fields: { file_id: text, ...cacheControl }, places: ["user", "assistant"] },
  thinking: { fields: { thinking: text, signature: text }, places: saidIn },
  redacted_thinking: { fields: { data: text }, places: saidIn },
  tool_use: {
    fields: { id: text, name: text, input: anything, ...callFields, ...cacheControl },
    places: saidIn,
  },
  server_tool_use: {
    fields: { id: text, name: text, input: anything, caller: optional(object), ...cacheControl },
    places: saidIn,
  },
  web_search_tool_result: serverResult,
  web_fetch_tool_result: serverResult,
  code_execution_tool_result: serverResult,
  bash_code_execution_tool_result: serverResult,
  text_editor_code_execution_tool_result: serverResult,
  tool_search_tool_result: serverResult,
};
