import type { Rejected } from "../rejected.js";
import type { CodexTurn } from "./rules.js";

const text = (said: string) => ({ type: "text", text: said });
const image = (path: string) => ({ type: "local_image", path });
const turn = (more: Partial<CodexTurn> = {}): CodexTurn => ({
  args: ["-", "--image", "/a.png", "--image", "/b c.png"],
  prompt: "Compare these.",
  input: [text("Compare these."), image("/a.png"), image("/b c.png")],
  ...more,
});
const said = (prompt: string): CodexTurn => turn({ prompt, input: [text(prompt)], args: ["-"] });
const shown = (path: string): CodexTurn =>
  turn({ args: ["-", "--image", path], input: [text("Compare these."), image(path)] });

/** What Codex takes. */
export const accepted: Readonly<Record<string, CodexTurn>> = {
  "two images": turn(),
  "text alone": said("hello"),
  "text that looks like an option": said("--help"),
  "several texts": turn({
    prompt: "One.\n\nTwo.",
    input: [text("One."), image("/a.png"), text("Two."), image("/b c.png")],
  }),
  "a path of Windows": shown("C:\\shots\\a.png"),
};

/** What one rule each refuses. */
export const rejected: readonly Rejected<CodexTurn>[] = [
  { rule: "arguments", what: "a prompt that looks like an option", body: turn({ args: ["--help me", "-"] }) },
  { rule: "arguments", what: "a prompt that is a command", body: turn({ args: ["review"] }) },
  { rule: "arguments", what: "a flag without a path", body: turn({ args: ["-", "--image"] }) },
  { rule: "arguments", what: "two prompts", body: turn({ args: ["-", "--", "a"] }) },
  {
    rule: "prompt-from-input",
    what: "the prompt as an argument",
    body: turn({ args: ["Compare these.", "--image", "/a.png", "--image", "/b c.png"] }),
  },
  {
    rule: "images",
    what: "a prompt behind the images",
    body: turn({ args: ["-", "--image", "/a.png", "/b c.png", "a"] }),
  },
  {
    rule: "images",
    what: "images in another order",
    body: turn({ args: ["-", "-i", "/b c.png", "/a.png"] }),
  },
  { rule: "images", what: "a path with a comma", body: shown("/a,b.png") },
  { rule: "absolute-paths", what: "a relative path", body: shown("a.png") },
  { rule: "nul", what: "a path with a NUL", body: shown("/a\0.png") },
  { rule: "something-said", what: "an empty prompt", body: said("") },
  { rule: "something-said", what: "a prompt of white space", body: said("\n") },
  { rule: "byte-order-mark", what: "a byte order mark", body: said("\ufeffhello") },
  { rule: "utf-8", what: "half a pair", body: said("a \ud83d b") },
  {
    rule: "input-items",
    what: "an image of Responses",
    body: turn({ input: [...turn().input, { type: "input_image" }] }),
  },
  { rule: "one-prompt", what: "another text for the SDK", body: turn({ prompt: "Compare those." }) },
];
