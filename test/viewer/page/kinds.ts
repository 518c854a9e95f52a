/** Sessions of the kinds that people look at, each as its agent or framework writes it and `view` reads it. */

import { type BlobStore, memoryBlobStore } from "sessile";
import { fromUIMessages } from "sessile/ai-sdk";
import { importSession } from "sessile/interop";
import { opencode } from "sessile/opencode";
import {
  type Fields,
  mainPath,
  read,
  reply,
  result,
  text,
  user,
} from "../../agents/claude-code/transcript.js";
import { answered, item, read as readCodex, rollout, said, turn } from "../../agents/codex/samples.js";
import { base64, png } from "../../attachments/samples.js";
import { encodeUtf8 } from "../../support/plain-values.js";
import { Entries, pageOf, type ViewerSource } from "../session.js";

interface Kind {
  readonly source: ViewerSource;
  readonly agent: string;
  readonly blobs?: BlobStore;
}

const day = Date.UTC(2026, 10, 23, 8);
/** The time at which the sessions are looked at. */
export const lookedAt = new Date(day + 4 * 3600_000);
const at = (second: number) => new Date(day + second * 1000).toISOString();
const use = (id: string, name: string, input: Fields): Fields => ({ type: "tool_use", id, name, input });

/** Lines of a transcript, each after the one before, ten seconds apart. */
function chain(lines: readonly ((uuid: string, parent: string | null) => Fields)[], more: Fields = {}) {
  return lines.map((line, index) => ({
    ...line(`u${index}`, index === 0 ? null : `u${index - 1}`),
    ...{ timestamp: at(10 * index), cwd: "/work/shells", gitBranch: "main" },
    ...more,
  }));
}

const asks =
  (content: unknown, more: Fields = {}) =>
  (uuid: string, parent: string | null) =>
    user(uuid, parent, content, more);
const says =
  (id: string, block: Fields, input = 1200) =>
  (uuid: string, parent: string | null) =>
    reply(uuid, parent, id, block, {
      message: { usage: { input_tokens: input, cache_read_input_tokens: 9 * input, output_tokens: 210 } },
    });
const gives = (id: string, content: unknown, more: Fields = {}, block: Fields = {}) =>
  asks([result(id, content, block)], more);

const plan = (...states: readonly string[]) => ({
  todos: ["Read the list", "Sort by size", "Run the tests"].map((content, index) => ({
    content,
    activeForm: content,
    status: states[index],
  })),
});

async function claudeSubagents(): Promise<Kind> {
  const agent = (id: string) => ({ isSidechain: true, agentId: id });
  const lines = chain([
    asks(
      "<command-name>/review</command-name>\n<command-message>review</command-message>\n<command-args>the list of shells</command-args>",
    ),
    asks("Review the list of shells: read each file, and say what is wrong.", { isMeta: true }),
    says("m1", {
      type: "thinking",
      thinking: "Two files. An agent can look at each of them.",
      signature: "c2ln",
    }),
    says("m1", text("I make a plan, and ask two agents.")),
    says("m1", use("c1", "TodoWrite", plan("in_progress", "pending", "pending"))),
    gives("c1", "Todos have been modified successfully"),
    says(
      "m2",
      use("c2", "Task", {
        description: "Review sort.ts",
        prompt: "# Review\n\nRead `sort.ts`.",
        subagent_type: "reviewer",
      }),
      1500,
    ),
    says(
      "m2",
      use("c3", "Task", {
        description: "Review list.ts",
        prompt: "Read `list.ts`.",
        subagent_type: "reviewer",
      }),
      1500,
    ),
    gives("c2", [text("**sort.ts** compares sizes as *text*, so that 10 is before 9.")], {
      toolUseResult: { agentId: "b1" },
    }),
    gives("c3", [text("Nothing is wrong.")], { toolUseResult: { agentId: "b2" } }),
    says(
      "m3",
      text(
        "## What is wrong\n\n1. `sort.ts` compares sizes as text.\n2. `list.ts` is fine.\n\nI mend the first.",
      ),
      2100,
    ),
    says(
      "m3",
      use("c4", "Edit", {
        file_path: "/work/shells/sort.ts",
        old_string: "sizes.sort()",
        new_string: "sizes.sort((a, b) => a - b)",
      }),
      2100,
    ),
    gives("c4", "The file has been updated."),
    says("m4", use("c5", "Bash", { command: "npm test", description: "Run the tests" }), 2400),
    gives("c5", "3 passed\n1 failed: an empty list", {}, { is_error: true }),
    says(
      "m5",
      text("One test fails: an empty list has no largest shell. That is another fault, which I leave."),
      2600,
    ),
    asks("Good. Leave it."),
  ]);
  const folder = `${mainPath.replace(/\.jsonl$/, "")}/subagents`;
  const child = (id: string, words: string, answer: string) =>
    encodeLines(
      chain(
        [
          asks(words),
          says(`${id}m`, use(`${id}c`, "Read", { file_path: "/work/shells/sort.ts" })),
          gives(`${id}c`, "1\n2\n3"),
          says(`${id}n`, text(answer)),
        ],
        agent(id),
      ),
    );
  const more = {
    [`${folder}/agent-b1.jsonl`]: child("b1", "Read `sort.ts`.", "**sort.ts** compares sizes as *text*."),
    [`${folder}/agent-b2.jsonl`]: child("b2", "Read `list.ts`.", "Nothing is wrong."),
  };
  return { source: await read(lines, { more, keep: "none" }), agent: "claude-code" };
}

async function claudeWorkflow(): Promise<Kind> {
  const lines = chain([
    asks("Count the words of each page of the guide, one agent a page."),
    says("m1", text("A workflow does this: an agent counts each page, and I add the numbers.")),
    says(
      "m1",
      use("c1", "Workflow", {
        script: "for (const page of pages) await agent(page);",
        args: { pages: ["shells.md", "tides.md"] },
      }),
    ),
    gives("c1", "The workflow wf_1 runs.", { toolUseResult: { status: "async_launched", runId: "wf_1" } }),
    asks(
      "<task-notification>\n<task-id>wf_1</task-id>\n<status>completed</status>\n<summary>2 agents, 2 results</summary>\n</task-notification>",
    ),
    says("m2", use("c2", "Glob", { pattern: "guide/*.md" }), 1900),
    says("m2", use("c3", "Read", { file_path: "/work/shells/guide/shells.md" }), 1900),
    says("m2", use("c4", "Grep", { pattern: "limpet", path: "/work/shells/guide" }), 1900),
    gives("c2", "guide/shells.md\nguide/tides.md"),
    gives("c3", "# Shells\n\nA limpet stays where it is."),
    gives("c4", "guide/shells.md:3"),
    says(
      "m3",
      text(
        "| Page | Words |\n| --- | ---: |\n| shells.md | 1,204 |\n| tides.md | 873 |\n\nTogether they have **2,077** words.",
      ),
      2300,
    ),
    asks("And without the headings?"),
    says("m4", text("2,031 words."), 2400),
  ]);
  const folder = `${mainPath.replace(/\.jsonl$/, "")}/subagents/workflows/wf_1`;
  const child = (id: string, page: string, count: string) =>
    encodeLines(
      chain([asks(`Count the words of ${page}`), says(`${id}m`, text(`${page} has ${count} words.`))], {
        isSidechain: true,
        agentId: id,
      }),
    );
  const more = {
    [`${folder}/agent-b1.jsonl`]: child("b1", "shells.md", "1,204"),
    [`${folder}/agent-b2.jsonl`]: child("b2", "tides.md", "873"),
  };
  return { source: await read(lines, { more, keep: "none" }), agent: "claude-code" };
}

const encodeLines = (lines: readonly Fields[]) =>
  encodeUtf8(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));

async function codexSession(): Promise<Kind> {
  const calls = (id: string, name: string, args: object) =>
    item({ type: "function_call", name, arguments: JSON.stringify(args), call_id: id });
  const output = (id: string, words: string) =>
    item({ type: "function_call_output", call_id: id, output: words });
  const patch = [
    "*** Begin Patch",
    "*** Update File: sort.ts",
    "@@",
    "-sizes.sort();",
    "+sizes.sort((a, b) => a - b);",
    "*** End Patch",
  ];
  const usage = {
    input_tokens: 5200,
    cached_input_tokens: 4000,
    output_tokens: 240,
    reasoning_output_tokens: 64,
    total_tokens: 5440,
  };
  const file = rollout(
    [
      item({
        type: "message",
        role: "developer",
        content: [
          {
            type: "input_text",
            text: "<permissions instructions>\nAsk before you write.\n</permissions instructions>",
          },
        ],
      }),
      said("<environment_context>\n  <cwd>/srv/app</cwd>\n  <shell>bash</shell>\n</environment_context>"),
      turn(),
      said("The largest shell is not the first of the list. Why?"),
      item({
        type: "reasoning",
        id: "rs_1",
        summary: [{ type: "summary_text", text: "**Look at the order**\n\nThe sizes may be text." }],
        encrypted_content: "ENCX",
      }),
      calls("c1", "shell", { command: ["bash", "-lc", "cat sort.ts"] }),
      output("c1", "sizes.sort();"),
      calls("c2", "shell", { command: ["bash", "-lc", "rg limpet"] }),
      output("c2", "list.ts:4: limpet"),
      answered("`sort()` without a function compares **as text**. I mend it."),
      item({ type: "custom_tool_call", call_id: "c3", name: "apply_patch", input: patch.join("\n") }),
      item({
        type: "custom_tool_call_output",
        call_id: "c3",
        output: "Success. Updated the following files:\nM sort.ts",
      }),
      calls("c4", "shell", { command: ["bash", "-lc", "npm test"] }),
      output("c4", "4 passed"),
      ["event_msg", { type: "token_count", info: { total_token_usage: usage, last_token_usage: usage } }],
      answered(
        "It is mended: the sizes are numbers, largest last.\n\n```ts\nsizes.sort((a, b) => a - b);\n```",
      ),
      said("Largest first, please."),
      answered("Then it is `b - a`."),
    ],
    { base_instructions: { text: "You are a coding agent." } },
  );
  return { source: await readCodex(file, { keep: "none" }), agent: "codex" };
}

async function opencodeSession(): Promise<Kind> {
  let second = 0;
  let parts = 0;
  const time = () => day + 10_000 * second++;
  const part = (fields: object) => ({ id: `prt_${String(++parts).padStart(3, "0")}`, ...fields });
  const words = (value: string) => part({ type: "text", text: value });
  const tool = (name: string, input: object, output: string, more: object = {}) =>
    part({
      ...{ type: "tool", callID: `call_${parts}`, tool: name },
      state: {
        status: "completed",
        input,
        output,
        title: name,
        metadata: {},
        time: { start: time(), end: time() },
        ...more,
      },
    });
  const model = { providerID: "anthropic", modelID: "claude-opus-5-5" };
  const from = (id: string, ...content: readonly object[]) => ({
    info: { id, role: "user", time: { created: time() }, model },
    parts: content,
  });
  const to = (id: string, ...content: readonly object[]) => ({
    info: {
      ...{ id, role: "assistant", finish: "stop", ...model },
      time: { created: time(), completed: time() },
      tokens: { input: 2100, output: 180, reasoning: 0, cache: { read: 14_000, write: 300 } },
    },
    parts: content,
  });
  const messages = [
    from("msg_1", words("Which tides does the page forget?")),
    to(
      "msg_2",
      part({ type: "reasoning", text: "The page has a table. I read it first.", time: { start: 1, end: 2 } }),
      words("I read the page."),
      tool("read", { filePath: "/srv/tides/page.md" }, "<file>\n00001| # Tides\n00002| spring\n</file>"),
      tool(
        "todowrite",
        {
          todos: [
            { id: "1", content: "Add the neap tide", status: "completed", priority: "high" },
            { id: "2", content: "Add a picture", status: "pending", priority: "low" },
          ],
        },
        "[]",
      ),
      tool(
        "write",
        { filePath: "/srv/tides/page.md", content: "# Tides\n\nspring\nneap\n" },
        "Wrote file successfully.",
      ),
      tool(
        "bash",
        { command: "npx prettier --check page.md", description: "Check the form" },
        "All matched files use Prettier code style!",
      ),
    ),
    to(
      "msg_3",
      words(
        "It forgot the **neap tide**:\n\n- *spring*: sun and moon in line\n- *neap*: at a right angle\n\n> Between them lie seven days.",
      ),
    ),
    from("msg_4", words("Thank you. When is the next one?")),
    to("msg_5", words("On Sunday, by the table.")),
  ];
  const info = {
    id: "ses_1",
    directory: "/srv/tides",
    title: "The tides of the page",
    version: "1.18.33",
    time: { created: day, updated: day },
  };
  const file = { path: "export.json", bytes: encodeUtf8(JSON.stringify({ info, messages })) };
  return { source: await importSession([file], { from: opencode, keep: "none" }), agent: "opencode" };
}

/** A session of pi's form, whose context was summarized twice, with two models. */
function piCompactions(): Kind {
  const entries = new Entries("0a1b2c3d");
  const compact = (id: string, kept: string, summary: string, tokensBefore: number) =>
    entries.add({ type: "compaction", summary, firstKeptEntryId: kept, tokensBefore }, id);
  entries.add({ type: "model_change", provider: "anthropic", modelId: "claude-opus-5-5" });
  entries.add({ type: "thinking_level_change", thinkingLevel: "high" });
  entries.user("Name the parts of a limpet.", "q1");
  entries.reply("The **shell**, the *foot*, the mantle and the radula.", {}, "a1");
  entries.user("And what holds it to the rock?", "q2");
  entries.reply(
    [{ type: "text", text: "I look it up." }, entries.call("bash", { command: "grep foot notes.txt" }, "c1")],
    {},
    "a2",
  );
  entries.result("c1", "bash", "foot: a muscle that holds by suction and mucus");
  compact("k1", "q2", "## Limpets\n\nThe parts were named: shell, foot, mantle, radula.", 61_200);
  entries.reply("The foot, by suction and mucus.", {}, "a3");
  entries.add({ type: "model_change", provider: "openai", modelId: "gpt-5.2" });
  entries.user("How strong is that?", "q3");
  entries.reply("Some **75 newtons** a square centimetre.", { provider: "openai", model: "gpt-5.2" }, "a4");
  compact(
    "k2",
    "q3",
    "## Limpets\n\nThe foot holds it, by suction and mucus; its strength was asked for.",
    58_900,
  );
  entries.user("So a child cannot lift one?", "q4");
  entries.reply("Not one that has been warned.", { provider: "openai", model: "gpt-5.2" }, "a5");
  return { source: entries.source, agent: "pi" };
}

/** A chat of `useChat`, with pictures of both sides, a tool and another version of a reply. */
async function useChat(): Promise<Kind> {
  const blobs = memoryBlobStore();
  const entries = new Entries("chat-1");
  const picture = (width: number, height: number, grey: number) => ({
    ...{ type: "file", mediaType: "image/png", filename: `shell-${width}.png` },
    url: `data:image/png;base64,${base64(png(width, height, grey))}`,
  });
  const add = async (
    id: string,
    role: "user" | "assistant",
    ...parts: { type: string; [key: string]: unknown }[]
  ) => {
    const drafts = await fromUIMessages([{ id, role, parts }], {
      blobs,
      model: { provider: "openai", modelId: "gpt-5.2" },
    });
    for (const draft of drafts) {
      const { id: own, ...rest } = draft as { readonly id?: string };
      if ("message" in rest) Object.assign(rest.message as object, { timestamp: entries.time });
      entries.add(rest as Parameters<Entries["add"]>[0], own);
    }
    return entries.last;
  };
  const words = (value: string) => ({ type: "text", text: value });
  const question = await add(
    "m1",
    "user",
    words("Which of these two shells is larger?"),
    picture(120, 90, 90),
    picture(64, 64, 170),
  );
  await add("m2", "assistant", words("The second one."));
  entries.from(question);
  await add(
    ...(["m3", "assistant", { type: "step-start" }, { type: "reasoning", text: "I measure both." }] as const),
    {
      type: "tool-measure",
      toolCallId: "c1",
      state: "output-available",
      input: { file: "shell-120.png" },
      output: { width: 120, height: 90 },
    },
    {
      type: "tool-measure",
      toolCallId: "c2",
      state: "output-error",
      input: { file: "shell-65.png" },
      errorText: "there is no such file",
    },
    { type: "step-start" },
    words("The **first** one: 120 by 90 against 64 by 64 pixels."),
  );
  await add("m4", "user", words("Show me where you measured."));
  await add("m5", "assistant", words("From edge to edge:"), picture(160, 40, 210));
  return { source: entries.source, agent: "sessile", blobs };
}

/** By the name of the picture. */
const kinds: Readonly<Record<string, () => Kind | Promise<Kind>>> = {
  "claude-code-subagents": claudeSubagents,
  "claude-code-workflow": claudeWorkflow,
  codex: codexSession,
  opencode: opencodeSession,
  "pi-compactions": piCompactions,
  "use-chat": useChat,
};

export const kindNames = Object.keys(kinds);

/** The page of a session of a kind. */
export async function kindPage(name: string, template: string): Promise<string> {
  const kind = await kinds[name]?.();
  if (kind === undefined) throw new Error(`no kind ${name}`);
  const { source, ...options } = kind;
  return pageOf(source, { template, ...options });
}
