import type { Fault } from "../../rule.js";
import type { OpenaiRule } from "../rule.js";
import { emptyArray, lengthFaults } from "../text.js";
import type { ResponsesLedger } from "./ledger.js";
import { checkResponses, itemsOf, type ResponsesItem } from "./shape.js";

/** What the ids of items begin with, as far as refusals tell. */
const prefixes: Partial<Readonly<Record<ResponsesItem["type"], string>>> = {
  message: "msg",
  function_call: "fc",
  function_call_output: "fc",
  reasoning: "rs",
  web_search_call: "ws",
  custom_tool_call: "ctc",
};

function idFaults(item: ResponsesItem, at: number): readonly Fault[] {
  const { id, type } = item;
  if (typeof id !== "string") return [];
  const path = `input[${at}].id`;
  const prefix = prefixes[type] ?? "";
  if (!/^[a-zA-Z0-9_-]+$/.test(id)) {
    const problem = `Invalid '${path}': '${id}'. Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained additional characters.`;
    return [{ path, problem }];
  }
  if (!id.startsWith(prefix)) {
    return [{ path, problem: `Invalid '${path}': '${id}'. Expected an ID that begins with '${prefix}'.` }];
  }
  return lengthFaults(id, path, 64);
}

/** What comes of the model: a message of its own, a call, a call of a hosted tool. */
function isOutput(item: ResponsesItem | undefined): boolean {
  if (item === undefined || item.type === "reasoning" || item.type === "function_call_output") return false;
  return item.type !== "message" || item.role === "assistant";
}

const read = "(read as a stored copy, 2026-11-21)";
const notStored = (id: string) =>
  `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`;

/** What items ask, given what the API knows of its responses. */
export function responsesItemRules(ledger: ResponsesLedger): readonly OpenaiRule[] {
  return [
    {
      id: "input-not-empty",
      code: "empty_array",
      source: `https://github.com/CopilotKit/CopilotKit/issues/529 of Chat ${read}`,
      check: checkResponses(({ input }) => (typeof input === "string" ? [] : emptyArray(input, "input"))),
    },
    {
      id: "item-ids",
      code: "invalid_value",
      source: `https://github.com/openai/openai-cs-agents-demo/issues/34, https://github.com/Wei-Shaw/sub2api/issues/954 and https://github.com/can1357/oh-my-pi/issues/284 ${read}`,
      check: checkResponses((body) => itemsOf(body).flatMap(idFaults)),
    },
    {
      id: "item-ids-unique",
      code: null,
      param: "input",
      source: `https://github.com/earendil-works/pi/issues/5147 ${read}`,
      check: checkResponses((body) => {
        const items = itemsOf(body);
        return items.flatMap(({ id }, at) =>
          typeof id === "string" && items.findIndex((item) => item.id === id) < at
            ? [
                {
                  path: `input[${at}]`,
                  problem: `Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`,
                },
              ]
            : [],
        );
      }),
    },
    {
      id: "reasoning-followed",
      code: null,
      param: "input",
      source: `https://github.com/continuedev/continue/issues/8933, and of two in a row https://github.com/UKGovernmentBEIS/inspect_ai/pull/1990 ${read}`,
      check: checkResponses((body) => {
        const items = itemsOf(body);
        return items.flatMap((item, at) =>
          item.type === "reasoning" &&
          !isOutput(items[at + 1]) &&
          // Of items without ids Codex sends several in a row (its rollouts and requests, 2026-11-23).
          !(item.id === undefined && items[at + 1]?.type === "reasoning")
            ? [
                {
                  path: `input[${at}]`,
                  problem: `Item '${item.id}' of type 'reasoning' was provided without its required following item.`,
                },
              ]
            : [],
        );
      }),
    },
    {
      id: "items-with-their-reasoning",
      code: null,
      param: "input",
      source: `https://github.com/mastra-ai/mastra/issues/8738 and https://github.com/laravel/ai/pull/1052 ${read}`,
      check: checkResponses((body) => {
        const items = itemsOf(body);
        return items.flatMap(({ id, type }, at) => {
          const reasoning = typeof id === "string" ? ledger.reasoningOf.get(id) : undefined;
          if (reasoning === undefined || items.slice(0, at).some((item) => item.id === reasoning)) return [];
          const problem = `Item '${id}' of type '${type}' was provided without its required 'reasoning' item: '${reasoning}'.`;
          return [{ path: `input[${at}]`, problem }];
        });
      }),
    },
    {
      id: "items-not-stored",
      code: null,
      param: "input",
      status: 404,
      source: `https://github.com/can1357/oh-my-pi/issues/41 ${read}`,
      check: checkResponses((body) =>
        itemsOf(body).flatMap((item, at) => {
          const isBare =
            item.type === "item_reference" || (item.type === "reasoning" && !item.encrypted_content);
          if (!isBare || (body.store !== false && ledger.stored.has(item.id ?? ""))) return [];
          return [{ path: `input[${at}]`, problem: notStored(item.id ?? "") }];
        }),
      ),
    },
    {
      id: "encrypted-content",
      code: "invalid_encrypted_content",
      param: null,
      source: `https://github.com/openai/codex/issues/8145 and https://github.com/smallmain/vscode-unify-chat-provider/issues/178 ${read}`,
      check: checkResponses((body) =>
        itemsOf(body).flatMap((item, at) => {
          if (item.type !== "reasoning" || !item.encrypted_content) return [];
          const content = item.encrypted_content;
          if (content.startsWith("gAAA") && (ledger.encrypted.get(item.id ?? "") ?? content) === content)
            return [];
          const problem = `The encrypted content for item ${item.id} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`;
          return [{ path: `input[${at}].encrypted_content`, problem }];
        }),
      ),
    },
  ];
}
