import type { Fault, ProviderRule } from "../rule.js";
import { blockShapes } from "./block-shapes.js";
import type { AnthropicRequest, Block } from "./request.js";
import { anything, either, fields, flag, integer, list, object, oneOf, optional, text } from "./shape.js";
import { sources } from "./sources.js";

const body = fields({
  model: text,
  max_tokens: integer(0),
  messages: list(
    fields({
      role: oneOf("user", "assistant", "system"),
      content: either(text, list()),
      clear_at: optional(oneOf("next_user_message", "never")),
    }),
  ),
  system: optional(either(text, list())),
  tools: optional(list(object)),
  cache_control: optional(object),
  container: optional(anything),
  diagnostics: optional(object),
  inference_geo: optional(text),
  metadata: optional(object),
  output_config: optional(object),
  service_tier: optional(text),
  speed: optional(text),
  stop_sequences: optional(list(text)),
  stream: optional(flag),
  thinking: optional(object),
  tool_choice: optional(object),
});

const maxMessages = 100_000;

/** Fields of the body and of each block, with their types; no other field is taken. */
export const fieldRules: readonly ProviderRule<AnthropicRequest>[] = [
  { id: "body-fields", source: sources.types, check: ({ json }) => body(json, "") },
  {
    id: "message-count",
    source: sources.types,
    check: ({ turns: { length } }) => {
      if (length > 0 && length <= maxMessages) return [];
      const problem = length === 0 ? "at least one message is required" : `at most ${maxMessages} messages`;
      return [{ path: "messages", problem }];
    },
  },
  { id: "block-types", source: sources.types, check: ({ blocks }) => blocks.flatMap(unknownType) },
  {
    id: "block-places",
    source: `${sources.types}; ${sources.rolesOfBlocks}`,
    check: ({ blocks }) => blocks.flatMap(misplaced),
  },
  {
    id: "block-fields",
    source: `${sources.types}; ${sources.cacheOnThinking}`,
    check: ({ blocks }) => blocks.flatMap(wrongFields),
  },
];

function unknownType({ path, type }: Block): readonly Fault[] {
  if (type === "") return [{ path: `${path}.type`, problem: "Field required" }];
  if (Object.hasOwn(blockShapes, type)) return [];
  const problem = `Input tag '${type}' found using 'type' does not match any of the expected tags`;
  return [{ path, problem }];
}

function misplaced({ path, type, place }: Block): readonly Fault[] {
  const places = blockShapes[type]?.places;
  if (places === undefined || places.includes(place)) return [];
  const expected = places.map((each) => `\`${each}\``).join(" or ");
  return [{ path, problem: `\`${type}\` blocks can only be in ${expected} messages` }];
}

function wrongFields({ path, type, value }: Block): readonly Fault[] {
  const shape = blockShapes[type];
  return shape === undefined ? [] : fields({ type: text, ...shape.fields })(value, `${path}.${type}`);
}
