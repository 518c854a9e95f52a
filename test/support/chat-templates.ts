import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { OpenaiChatMessage } from "sessile/openai";

const require = createRequire(import.meta.url);
const imported = (path: string): Promise<unknown> => import(pathToFileURL(path).href);

/** A template that is parsed. */
export interface ChatTemplate {
  /** @throws Error if the template raises */
  render(values: Readonly<Record<string, unknown>>): string;
}

// Both are loaded by path: one keeps the templates in a source file that it does not export.
const { Template } = (await imported(require.resolve("@huggingface/jinja"))) as {
  readonly Template: new (source: string) => ChatTemplate;
};
const templates = join(require.resolve("@huggingface/ollama-utils"), "../../src/chat-template-automap.ts");
const { OLLAMA_CHAT_TEMPLATE_MAPPING: rows } = (await imported(templates)) as {
  readonly OLLAMA_CHAT_TEMPLATE_MAPPING: readonly { readonly model: string; readonly gguf: string }[];
};

/** The chat templates that the package carries, as the makers of the models put them into the model files. */
export const openModels: readonly { readonly model: string; readonly template: ChatTemplate }[] = rows.map(
  ({ model, gguf }) => ({ model: model.replace("library/", ""), template: new Template(gguf) }),
);

/**
 * Our own template, with the rules that Mistral's models from v7 on have for tools: system first, messages of text alternate
 * with those of calls and results left out, ids have nine letters and digits, and no text goes beside calls.
 *
 * @see https://github.com/ggml-org/llama.cpp, models/templates/mistralai-Mistral-Small-3.1-24B-Instruct-2503.jinja (rules read
 *   in a stored copy of 2026-11-22)
 */
const mistralRules = new Template(`
{{- bos_token }}{%- set spoken = namespace(count=0) %}
{%- for message in messages %}
  {%- if message.role == 'tool' %}
    {%- if message.tool_call_id | length != 9 %}{{ raise_exception('nine characters') }}{% endif %}
    {{- '[TOOL_RESULTS]' + message.content + '[/TOOL_RESULTS]' }}
  {%- elif message.role == 'assistant' and message.tool_calls %}
    {%- for call in message.tool_calls %}
      {%- if call.id | length != 9 %}{{ raise_exception('nine characters') }}{% endif %}
      {{- '[TOOL_CALLS]' + call.function.name + '[ARGS]' + (call.function.arguments | tojson) }}
    {%- endfor %}
    {{- eos_token }}
  {%- elif message.role == 'system' and loop.first %}
    {{- '[SYSTEM_PROMPT]' + message.content + '[/SYSTEM_PROMPT]' }}
  {%- elif (message.role == 'user') != (spoken.count % 2 == 0) %}
    {{- raise_exception('roles must alternate') }}
  {%- else %}
    {%- set spoken.count = spoken.count + 1 %}
    {{- '[INST]' + message.content + '[/INST]' if message.role == 'user' else message.content + eos_token }}
  {%- endif %}
{%- endfor %}`);

/** The template of a model of the package, or our own of `mistral with tools`. */
export function chatTemplate(name: string): ChatTemplate {
  if (name === "mistral with tools") return mistralRules;
  const found = openModels.find(({ model }) => model === name);
  if (found === undefined) throw new RangeError(`no template of ${name}`);
  return found.template;
}

/** How a server fits messages to a template. */
export interface TemplateForm {
  /** The template asks for content as a list of pieces; vLLM finds that out, or is told. */
  readonly takesLists?: true;
  /** The template puts arguments behind a text, so that a server has to leave them one, as llama.cpp does. */
  readonly takesTextArguments?: true;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Messages as vLLM hands them to a template: content that is absent is empty, texts are one string or a list of pieces by what
 * the template asks for, an image is its placeholder, arguments are parsed, and reasoning has both names.
 *
 * @throws TypeError for a part that vLLM refuses
 * @see https://github.com/vllm-project/vllm/blob/001eadcf/vllm/entrypoints/chat_utils.py, `_parse_chat_message_content` and
 *   `_postprocess_messages` (stored copy, 2026-11-22)
 */
function served(messages: readonly OpenaiChatMessage[], form: TemplateForm): readonly Fields[] {
  return messages.map((message) => {
    const { role } = message;
    const pieces = piecesOf(message);
    const content = form.takesLists === true && role !== "tool" ? pieces : textOf(pieces);
    if (role === "tool") return { role, content, tool_call_id: message.tool_call_id };
    if (role !== "assistant") return { role, content };
    const { reasoning } = message as { readonly reasoning?: unknown };
    const calls = (message.tool_calls ?? []).map((call) => {
      if (call.type !== "function" || form.takesTextArguments === true) return call;
      const parsed = JSON.parse(call.function.arguments) as unknown;
      return { ...call, function: { ...call.function, arguments: parsed } };
    });
    return {
      role,
      content,
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
      ...(reasoning === undefined ? {} : { reasoning, reasoning_content: reasoning }),
    };
  });
}

type Piece = { readonly type: "text"; readonly text: string } | { readonly type: "image" };

function piecesOf({ content }: OpenaiChatMessage): readonly Piece[] {
  if (content === null) return [];
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content.map((part): Piece => {
    if (part.type === "text") return { type: "text", text: part.text };
    if (part.type === "refusal") return { type: "text", text: part.refusal };
    if (part.type === "image_url") return { type: "image" };
    throw new TypeError(`Unsupported chat content part type: '${part.type}'`);
  });
}

/** The texts of a message, as they were sent. */
export function textsOf(message: OpenaiChatMessage): readonly string[] {
  return piecesOf(message).flatMap((piece) => (piece.type === "text" ? [piece.text] : []));
}

/** Placeholders of images stand in front of the texts, all joined by line feeds. */
function textOf(pieces: readonly Piece[]): string {
  const texts = pieces.flatMap((piece) => (piece.type === "text" ? [piece.text] : []));
  return [...pieces.flatMap(({ type }) => (type === "image" ? ["<image>"] : [])), ...texts].join("\n");
}

/** The prompt that a server makes of a request; throws as the server or the template refuses it. */
export function promptOf(
  template: ChatTemplate,
  messages: readonly OpenaiChatMessage[],
  form: TemplateForm & { readonly tools?: readonly object[] } = {},
): string {
  const { tools } = form;
  return template.render({
    messages: served(messages, form),
    ...(tools === undefined ? {} : { tools }),
    add_generation_prompt: true,
    bos_token: "<s>",
    eos_token: "</s>",
    // What one template (firefunction) asks of its server besides.
    functions: "[]",
    datetime: "2026-01-01",
  });
}
