import { png } from "../../attachments/samples.js";
import { Entries } from "../session.js";

const base64 = (bytes: Uint8Array | string) => Buffer.from(bytes).toString("base64");

/** A session with everything that the page shows. */
export function richEntries(): Entries {
  const entries = new Entries();
  entries.user("Please **fix** the parser.\n\n- quickly\n- `safely`", "q1");
  entries.reply(
    [
      { type: "thinking", thinking: `I should look first.\n${"A long thought.\n".repeat(30)}deepthought` },
      {
        type: "text",
        text: "I look at it.\n\n```ts\nconst answer: number = 42;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |",
      },
      entries.call("read", { path: "src/parser.ts" }, "c1"),
      entries.call("bash", { command: "npm test\nnpm run lint" }, "c2"),
    ],
    {},
    "a1",
  );
  entries.result("c1", "read", `${"export const x = 1;\n".repeat(200)}// foldedneedle\n`);
  entries.result("c2", "bash", "\u001b[32m3 passed\u001b[0m\n\u001b[31m1 failed\u001b[0m", true);
  const edit = {
    path: "src/parser.ts",
    oldText: "const a = 1;\nsame();\n",
    newText: "const a = 2;\nsame();\nmore();\n",
  };
  entries.reply([entries.call("edit", edit, "c3")], {}, "a2");
  entries.result("c3", "edit", "edited");
  const image = { type: "image", mimeType: "image/png", data: base64(png(60, 40)) } as const;
  entries.message(
    {
      role: "user",
      content: [{ type: "text", text: "Does it look like this?" }, image],
      timestamp: entries.time,
    },
    "q2",
  );
  entries.add({ type: "context_pin", targetId: "q1", pinned: true }, "pin");
  entries.reply("It does.", {}, "a3");
  entries.from("q2").reply("It does not.", {}, "b1");
  entries.user("Why not?", "b2");
  entries.from("a3").add(
    {
      type: "compaction",
      summary: "## So far\n\nThe parser was fixed.",
      firstKeptEntryId: "q2",
      tokensBefore: 1234,
      retain: ["q1"],
    },
    "k1",
  );
  entries.add({ type: "context_edit", targetId: "a3", replacement: { content: "Yes." } });
  entries.user("Thanks. Anything left?", "q3");
  entries.reply("", { stopReason: "error", errorMessage: "overloaded_error: try again" }, "bad");
  entries.add({ type: "label", targetId: "q2", label: "the picture" });
  entries.reply("Nothing is left.", {}, "a4");
  return entries;
}

/** A session with a call that started a subagent, and the session of that. */
export function familyEntries(): readonly [Entries, Entries] {
  const [main, child] = [new Entries("main"), new Entries("child", "main")];
  main.user("Please review the parser.", "q1");
  main.reply([main.call("task", { prompt: "Review it, please" }, "c1")], {}, "start");
  main.result("c1", "task", "It is fine.");
  main.add({
    type: "custom",
    customType: "sessile.subagent",
    data: { toolCallId: "c1", sessionId: "child" },
  });
  main.reply("It is fine.", {}, "end");
  child.user("Review it, please", "s1");
  child.reply([child.call("read", { path: "src/parser.ts" }, "d1")], {}, "s0");
  child.reply("It is fine, and onlythere.", {}, "s2");
  return [main, child];
}

/** A session that tries to run scripts, to load things, to deceive and to block. */
export function hostileEntries(): Entries {
  const entries = new Entries();
  const script = "<script>window.hacked=1</script>";
  const load = "<img src=https://evil.example/x.png onerror=window.hacked=1>";
  entries.user(`</script>${script}<!-- ${load} \u2028\u2029 ${"$&$`$'"}`, `q"'><script>`);
  entries.reply([
    {
      type: "text",
      text: `# ${script}\n\n${load}\n\n![x](https://evil.example/y.png) [link](javascript:window.hacked=1)`,
    },
    {
      type: "text",
      text: "![d](data:image/svg+xml;base64,PHN2Zz4=) <iframe src=https://evil.example></iframe>",
    },
    { type: "text", text: "\u202Etxt.exe\u202C \u2066isolated\u2069" },
    entries.call(`ba\u202Esh${script}`, { command: script, ["__proto__"]: { hacked: 1 } }, "c1"),
    { type: "opaque", data: { html: script } },
  ]);
  entries.result(
    "c1",
    script,
    `\u001b]8;;javascript:window.hacked=1\u0007link\u001b]8;;\u0007\u001b[2J${script}`,
  );
  const { id: sessionId } = hostileChild().header;
  entries.add({ type: "custom", customType: "sessile.subagent", data: { toolCallId: "c1", sessionId } });
  const svg =
    "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='40' onload='parent.hacked=1'>" +
    "<script>parent.hacked=1</script><image href='https://evil.example/i.png'/></svg>";
  const image = (mimeType: string, data: string) =>
    ({ type: "image", mimeType, data: base64(data) }) as const;
  const images = [image("image/svg+xml", svg), image("text/html", script), image("image/png", "no image")];
  entries.message({ role: "user", content: images, timestamp: 1 });
  // Texts for which parsers take time in proportion to the square of their length.
  for (const text of [
    "[",
    "*a ",
    "`",
    "![",
    "<!",
    "> ",
    "- ",
    "a**b",
    "_a ",
    "|",
    "\\",
    "((",
    "~~a",
    "<a ",
  ]) {
    entries.reply(text.repeat(20_000 / text.length));
  }
  for (const [path, part] of [
    ["a.ts", "`${"],
    ["b.py", "'''"],
    ["c.json", "[{"],
    ["d.sh", "$("],
    ["e.css", "a{"],
  ] as const) {
    entries.reply([entries.call("read", { path }, path)]);
    entries.result(path, "read", part.repeat(10_000));
  }
  entries.add({ type: "custom", customType: script, data: { html: script } });
  entries.add({ type: "label", targetId: "e1", label: `\u202E${script}` });
  return entries;
}

/** A session of a subagent that {@link hostileEntries} starts, with a hostile id, title and image. */
export function hostileChild(): Entries {
  const id = `"'><script>window.hacked=1</script>\u202E`;
  const child = new Entries(id, id);
  child.user("</script><script>window.hacked=1</script>\u202Egpj.exe\u2066", "same");
  const data = base64("<svg xmlns='http://www.w3.org/2000/svg' onload='parent.hacked=1'/>");
  const image = { type: "image", mimeType: "image/svg+xml", data } as const;
  child.message({ role: "user", content: [image], timestamp: 1 });
  child.add({ type: "custom", customType: "sessile.subagent", data: { toolCallId: "c1", sessionId: id } });
  return child;
}

/** A session of so many entries, of the usual mix. */
export function longEntries(count: number): Entries {
  const entries = new Entries();
  while (entries.all.length < count) {
    const at = entries.all.length;
    entries.user(`Question ${at}: what does **file ${at}** do?\n\n- look at it\n- and \`run\` it`);
    const code = `\`\`\`ts\nexport function f${at}(a: number): string {\n  return String(a * ${at});\n}\n\`\`\``;
    entries.reply([
      { type: "text", text: `I look.\n\n${code}` },
      entries.call("read", { path: "a.ts" }, `c${at}`),
    ]);
    entries.result(`c${at}`, "read", `export const x${at} = ${at};\n`.repeat(10 + (at % 60)));
    entries.reply(`It is file ${at}. `.repeat(10));
    if (at % 500 === 496) {
      entries.add({
        type: "compaction",
        summary: "So far",
        firstKeptEntryId: `e${at}`,
        tokensBefore: 90_000,
      });
    }
  }
  return entries;
}
