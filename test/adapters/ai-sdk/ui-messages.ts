import type { UIMessage } from "ai";
import fc from "fast-check";

/** Messages as the AI SDK makes and accepts them: every part type, in every state. */

const word = fc.string({ maxLength: 12 });
const id = fc.stringMatching(/^[A-Za-z0-9]{1,16}$/);
/** JSON without minus zero, which no JSON text has, and without `__proto__`, which the reader of a line omits. */
export const json = fc
  .jsonValue({ maxDepth: 2 })
  .map((value): unknown =>
    JSON.parse(JSON.stringify(value), (key, member) => (key === "__proto__" ? undefined : member)),
  );
const record = fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), json, { maxKeys: 2, noNullPrototype: true });
const metadata = fc.dictionary(fc.constantFrom("openai", "anthropic"), record, {
  minKeys: 1,
  maxKeys: 2,
  noNullPrototype: true,
});
const optional = { providerMetadata: metadata };

const base64 = fc.uint8Array({ maxLength: 90 }).map((bytes) => Buffer.from(bytes).toString("base64"));
const url = fc.oneof(
  base64.map((text) => `data:image/png;base64,${text}`),
  base64.map((text) => `data:application/pdf;name=a.pdf;base64,${text}`),
  fc.constant("https://files.example/a.png?key=1"),
  fc.constant("data:text/plain,not%20base64"),
);

type Part = UIMessage["parts"][number];
const some = <T extends object>(fields: T, required: readonly (keyof T)[]) =>
  fc.record(fields as never, {
    requiredKeys: required as never,
    noNullPrototype: true,
  }) as fc.Arbitrary<Part>;

const citations = fc.array(
  fc.record({ type: fc.constant("text"), source: record }, { noNullPrototype: true }),
);
const text = some(
  { type: fc.constant("text"), text: word, state: fc.constant("done"), citations, ...optional },
  ["type", "text"],
);
const file = some(
  {
    type: fc.constant("file"),
    mediaType: fc.constantFrom("image/png", "image", "a/b"),
    filename: word,
    url,
    ...optional,
  },
  ["type", "mediaType", "url"],
);
const reasoning = some(
  {
    type: fc.constant("reasoning"),
    id: word,
    text: word,
    state: fc.constantFrom("done", "streaming"),
    ...optional,
  },
  ["type", "text"],
);
const source = fc.oneof(
  some({ type: fc.constant("source-url"), sourceId: word, url: word, title: word, ...optional }, [
    "type",
    "sourceId",
    "url",
  ]),
  some(
    { type: fc.constant("source-document"), sourceId: word, mediaType: word, title: word, filename: word },
    ["type", "sourceId", "mediaType", "title"],
  ),
);
const said = fc.oneof(json, fc.record({ text: word, more: json }, { noNullPrototype: true }));
const data = some({ type: fc.constantFrom("data-weather", "data-x"), id: word, data: said }, [
  "type",
  "data",
]);
/** Of version 7. */
const custom = fc.oneof(
  some({ type: fc.constant("custom"), kind: fc.constant("openai.compaction"), ...optional }, [
    "type",
    "kind",
  ] as never),
  some({ type: fc.constant("reasoning-file"), mediaType: fc.constant("image/png"), url, ...optional }, [
    "type",
    "mediaType",
    "url",
  ]),
);
const step = fc.constant<Part>({ type: "step-start" });
/** What the user says while a reply runs; of version 7. */
const steering = fc.record(
  { type: fc.constant("steering-message"), id, parts: fc.array(fc.oneof(text, file), { maxLength: 3 }) },
  { noNullPrototype: true },
) as fc.Arbitrary<unknown> as fc.Arbitrary<Part>;

const states = [
  { state: fc.constant("input-streaming"), input: json, rawInput: word },
  { state: fc.constant("input-available"), input: json },
  {
    state: fc.constant("approval-requested"),
    input: json,
    approval: fc.record({ id }, { noNullPrototype: true }),
  },
  {
    state: fc.constant("approval-responded"),
    input: json,
    approval: fc.record(
      { id, approved: fc.boolean(), reason: word },
      { requiredKeys: ["id", "approved"], noNullPrototype: true },
    ),
  },
  { state: fc.constant("output-available"), input: json, output: json },
  { state: fc.constant("output-available"), input: json, output: word, preliminary: fc.boolean() },
  { state: fc.constant("output-error"), input: json, errorText: word },
  { state: fc.constant("output-error"), rawInput: json, errorText: word },
  {
    state: fc.constant("output-denied"),
    input: json,
    approval: fc.record(
      { id, approved: fc.constant(false), reason: word },
      { requiredKeys: ["id", "approved"], noNullPrototype: true },
    ),
  },
];
const tool = fc.oneof(
  ...states.map((fields) => {
    const common = {
      toolCallId: id,
      title: word,
      providerExecuted: fc.boolean(),
      callProviderMetadata: metadata,
    };
    const required = ["type", "toolCallId", ...Object.keys(fields).filter((name) => name !== "preliminary")];
    return fc.oneof(
      some(
        { type: fc.constantFrom("tool-read", "tool-web-search"), ...common, ...fields } as object,
        required as never,
      ),
      some(
        {
          type: fc.constant("dynamic-tool"),
          toolName: fc.constantFrom("read", "x.y"),
          ...common,
          ...fields,
        } as object,
        [...required, "toolName"] as never,
      ),
    );
  }),
);

const of = (role: UIMessage["role"], parts: fc.Arbitrary<Part>) =>
  fc.record(
    { id, role: fc.constant(role), metadata: record, parts: fc.array(parts, { minLength: 1, maxLength: 6 }) },
    { requiredKeys: ["id", "role", "parts"], noNullPrototype: true },
  ) as fc.Arbitrary<UIMessage>;

/** A message of any role. */
export const uiMessage: fc.Arbitrary<UIMessage> = fc.oneof(
  { arbitrary: of("system", text), weight: 1 },
  { arbitrary: of("user", fc.oneof(text, file, data)), weight: 4 },
  {
    arbitrary: of("assistant", fc.oneof(text, file, reasoning, source, data, custom, step, tool, steering)),
    weight: 6,
  },
);

/** A history: messages with ids of their own. */
export const uiMessages: fc.Arbitrary<UIMessage[]> = fc.uniqueArray(uiMessage, {
  maxLength: 5,
  selector: (message) => message.id,
});
