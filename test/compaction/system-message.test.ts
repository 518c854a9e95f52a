import { type ContextMessage, contextOf, type SystemMessage } from "sessile/content";
import { expect, test } from "vitest";
import { foldSystemMessages } from "../../src/compaction/initial-context.js";
import { user } from "./scripted.js";

const system = (more: Partial<SystemMessage>, timestamp = 1): SystemMessage => ({
  role: "system",
  content: "",
  ...more,
  timestamp,
});
const fold = (...messages: readonly ContextMessage[]) => foldSystemMessages(contextOf(messages).items);

test("of none there is none, and one alone stays as it is", () => {
  expect(fold(user("a"))).toBeUndefined();
  const one = system({ content: "be kind", sections: { a: null }, toolsRemoved: ["x"] });
  expect(fold(user("a"), one)).toBe(one);
});

test("texts in order, sections as the latest has them, tools that were added and not removed", () => {
  const folded = fold(
    system({
      content: "be kind",
      sections: { style: "short", env: "linux" },
      toolsAdded: [{ name: "read", v: 1 }, "bash"],
    }),
    user("a"),
    system({ content: "", sections: { env: null, style: "long" }, toolsRemoved: ["bash"] }),
    system(
      {
        content: [{ type: "text", text: "be exact" }],
        toolsAdded: [{ name: "edit" }],
        toolsRemoved: [{ name: "read" }],
      },
      7,
    ),
  );
  expect(folded).toEqual({
    role: "system",
    content: [
      { type: "text", text: "be kind" },
      { type: "text", text: "be exact" },
    ],
    sections: { style: "long" },
    toolsAdded: [{ name: "edit" }],
    timestamp: 7,
  });
});

test("a tool that is removed and added in one message is there as it was added", () => {
  const folded = fold(
    system({ toolsAdded: [{ name: "read", v: 1 }] }),
    system({ toolsAdded: [{ name: "read", v: 2 }], toolsRemoved: [{ name: "read" }] }),
  );
  expect(folded?.toolsAdded).toEqual([{ name: "read", v: 2 }]);
});

test("a section and a tool that are no more leave nothing, and names of the prototype are names", () => {
  const folded = fold(
    system({
      sections: JSON.parse('{"__proto__":"p","constructor":"c"}') as Record<string, string>,
      toolsAdded: ["x", 5],
    }),
    system({ sections: { constructor: null }, toolsRemoved: ["x", 5] }),
  );
  expect(Object.entries(folded?.sections ?? {})).toEqual([["__proto__", "p"]]);
  expect(folded).not.toHaveProperty("toolsAdded");
  const gone = fold(system({ sections: { a: "x" } }), system({ sections: { a: null } }));
  expect(gone).not.toHaveProperty("sections");
});
