/** The lines of the conversation that a transcript ends in, after compactions and beside a team. */

import { describe, expect, it } from "vitest";
import { type Line, linkedTranscript, recordLine } from "../../../src/agents/claude-code/lines.js";
import { transcriptChain } from "../../../src/agents/claude-code/units.js";
import { call, type Fields, line, read, reply, result, shown, text, user } from "./transcript.js";

/** The uuids of the chain. */
function chain(...lines: readonly Fields[]): string {
  const nodes = lines.map((value, at) => recordLine({ value } as never, at) as Line);
  return transcriptChain(linkedTranscript(nodes, false))
    .map(({ uuid }) => uuid)
    .join(" ");
}

const boundary = (uuid: string, logicalParentUuid: string, anchorUuid: string, ...uuids: readonly string[]) =>
  line("system", uuid, null, {
    subtype: "compact_boundary",
    logicalParentUuid,
    compactMetadata: { preservedMessages: { anchorUuid, uuids } },
  });
const summary = (uuid: string, parent: string) => user(uuid, parent, "Summary.", { isCompactSummary: true });

describe("lines that a compaction preserves", () => {
  const before = [
    user("u1", null, "hello"),
    reply("a1", "u1", "m1", call("c1")),
    user("r1", "a1", [result("c1")]),
    reply("a2", "r1", "m2", text("done")),
  ];

  it("follow its summary in their order, and what follows the summary follows the last of them", () => {
    const compacted = [...before, boundary("b1", "a2", "s1", "a1", "r1", "a2"), summary("s1", "b1")];
    expect(chain(...compacted, user("u2", "s1", "go on"))).toBe("b1 s1 a1 r1 a2 u2");
    expect(chain(...compacted, user("u2", "a2", "go on"))).toBe("b1 s1 a1 r1 a2 u2");
    const hook = line("system", "h1", "s1", { subtype: "hook" });
    expect(chain(...compacted, hook, user("u2", "h1", "go on"))).toBe("b1 s1 a1 r1 a2 h1 u2");
    // Nothing follows the summary: the conversation ends in the last of them.
    expect(chain(...compacted)).toBe("b1 s1 a1 r1 a2");
  });

  it("are in the order of the compaction, not of the file", () => {
    const compacted = [...before, boundary("b1", "a2", "s1", "a2", "a1"), summary("s1", "b1")];
    expect(chain(...compacted, user("u2", "s1", "go on"))).toBe("b1 s1 a2 a1 u2");
  });

  it("may follow the summary already", () => {
    const later = [reply("a3", "s1", "m3", text("kept")), reply("a4", "a3", "m4", text("kept too"))];
    const compacted = [...before, boundary("b1", "a2", "s1", "a3", "a4"), summary("s1", "b1"), ...later];
    expect(chain(...compacted, user("u2", "a4", "go on"))).toBe("b1 s1 a3 a4 u2");
    expect(chain(...compacted, user("u2", "s1", "go on"))).toBe("b1 s1 a3 a4 u2");
  });

  it("move again with a second compaction, and stay out of the one that they left", () => {
    const first = [
      ...before,
      boundary("b1", "a2", "s1", "a2"),
      summary("s1", "b1"),
      user("u2", "s1", "go on"),
    ];
    const second = [boundary("b2", "u2", "s2", "a2", "u2"), summary("s2", "b2"), user("u3", "s2", "more")];
    expect(chain(...first, ...second)).toBe("b2 s2 a2 u2 u3");
    // A later compaction whose summary they followed once does not take them back.
    const away = [
      ...before,
      boundary("b1", "a2", "s1"),
      summary("s1", "b1"),
      user("u2", "s1", "go on"),
      boundary("b2", "u2", "s2", "u2"),
      summary("s2", "b2"),
      boundary("b3", "u2", "s1", "a1"),
      user("u3", "u2", "more"),
    ];
    expect(chain(...away)).toBe("b2 s2 u2 u3");
  });
});

describe("lines of a team's other members", () => {
  const team = { teamName: "builders" };
  const lines = [
    user("u1", null, "hello"),
    reply("a1", "u1", "m1", text("one")),
    user("t1", "a1", "from a member", team),
  ];
  const theirs = { ...reply("t2", "t1", "m2", text("of a member")), ...team };

  it("end no conversation, and are none of its words", async () => {
    expect(chain(...lines, theirs)).toBe("u1 a1");
    expect(shown(await read([...lines, theirs]))).toEqual(["user: hello", "assistant: one"]);
    const after = [...lines, theirs, user("u2", "a1", "go on")];
    expect(chain(...after)).toBe("u1 a1 u2");
    expect(shown(await read(after))).toEqual(["user: hello", "assistant: one", "user: go on"]);
    // Also if the conversation goes on behind them.
    const behind = [...lines, theirs, user("u2", "t2", "go on")];
    expect(chain(...behind)).toBe("u1 a1 t1 t2 u2");
    expect(shown(await read(behind))).toEqual(["user: hello", "assistant: one", "user: go on"]);
  });
});
