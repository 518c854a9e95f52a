import { hasMembers, type Members } from "./members.js";

/** A search of the web that the API did. */
export interface OpenaiWebSearch {
  type: "web_search_call";
  id: string;
  status: "in_progress" | "searching" | "completed" | "failed";
  action:
    | { type: "search"; query: string; queries?: string[]; sources?: { type: "url"; url: string }[] }
    | { type: "open_page"; url?: string | null }
    | { type: "find_in_page"; pattern: string; url: string };
}

/** A search of uploaded files that the API did. */
export interface OpenaiFileSearch {
  type: "file_search_call";
  id: string;
  queries: string[];
  status: "in_progress" | "searching" | "completed" | "incomplete" | "failed";
  results?:
    | {
        attributes?: Record<string, string | number | boolean> | null;
        file_id?: string;
        filename?: string;
        score?: number;
        text?: string;
      }[]
    | null;
}

/** Code that the API ran. */
export interface OpenaiCodeInterpreter {
  type: "code_interpreter_call";
  id: string;
  code: string | null;
  container_id: string;
  outputs: ({ type: "logs"; logs: string } | { type: "image"; url: string })[] | null;
  status: "in_progress" | "completed" | "incomplete" | "interpreting" | "failed";
}

/** An image that the API made. */
export interface OpenaiImageGeneration {
  type: "image_generation_call";
  id: string;
  /** Base64. */
  result: string | null;
  status: "in_progress" | "completed" | "generating" | "failed";
}

/** Tools of an MCP server, as the API listed them. */
export interface OpenaiMcpTools {
  type: "mcp_list_tools";
  id: string;
  server_label: string;
  tools: { name: string; input_schema: unknown; annotations?: unknown; description?: string | null }[];
  error?: string | null;
}

/** A call of an MCP server that the API did. */
export interface OpenaiMcpCall {
  type: "mcp_call";
  id: string;
  server_label: string;
  name: string;
  arguments: string;
  approval_request_id?: string | null;
  error?: string | null;
  output?: string | null;
  status?: "in_progress" | "completed" | "incomplete" | "calling" | "failed";
}

/** What came before, as the API compacted it. */
export interface OpenaiCompaction {
  type: "compaction";
  id?: string | null;
  encrypted_content: string;
}

/** What the API did on its own, which wants no answer and goes back as it came. */
export type OpenaiHostedItem =
  | OpenaiWebSearch
  | OpenaiFileSearch
  | OpenaiCodeInterpreter
  | OpenaiImageGeneration
  | OpenaiMcpTools
  | OpenaiMcpCall
  | OpenaiCompaction;

/** What has to be there, by type. What else there is is the API's own. */
const members = {
  web_search_call: { id: "string", status: "string", action: "object" },
  file_search_call: { id: "string", status: "string", queries: "object" },
  code_interpreter_call: { id: "string", status: "string", container_id: "string" },
  image_generation_call: { id: "string", status: "string" },
  mcp_list_tools: { id: "string", server_label: "string", tools: "object" },
  mcp_call: { id: "string", server_label: "string", name: "string", arguments: "string" },
  compaction: { encrypted_content: "string" },
} satisfies Record<OpenaiHostedItem["type"], Members>;

/** Whether a stored block is an item that can go back by itself. */
export function isHostedItem(data: unknown): data is OpenaiHostedItem {
  return hasMembers(data, members);
}

/**
 * A fresh copy of an item, as the request has it. The types of openai 6.26 want the `query` of a search, which those of 6.49
 * give up in favour of `queries`.
 */
export function hostedCopy(item: OpenaiHostedItem): OpenaiHostedItem {
  const copy = structuredClone(item);
  if (copy.type === "web_search_call" && copy.action.type === "search") {
    copy.action.query ??= copy.action.queries?.[0] ?? "";
  }
  return copy;
}
