import { describe, expect, test } from "vitest";
import { asPrinted, projectedRequest, read, requests, sample, samplesIn, upTo } from "./samples.js";

describe("the projection of an import is the request that Codex sends", () => {
  // @covers R93 › after tools, images and errors of 0.58
  test.each(["0.58", "0.98", "0.128", "0.169"])("after tools, images and errors of %s", async (version) => {
    const ours = await projectedRequest(await read(upTo(sample(`tools-${version}.jsonl`), "go on")));
    const isPrinted = version === "0.98" || version === "0.128";
    expect(isPrinted ? asPrinted(ours) : ours).toEqual(requests[`tools-${version}`]);
  });

  // @covers R93 › after a rollback, before and after a compaction of 0.98
  test.each(["0.98", "0.169"])("after a rollback, before and after a compaction of %s", async (version) => {
    for (const text of ["two again", "four", "slow"]) {
      const ours = await projectedRequest(await read(upTo(sample(`turns-${version}.jsonl`), text)));
      expect(ours).toEqual(requests[`turns-${version} ${text}`]);
    }
  });

  test.each(["0.98", "0.169"])("after an aborted turn of %s, but for its reasoning", async (version) => {
    const ours = await projectedRequest(await read(upTo(sample(`turns-${version}.jsonl`), "five")));
    const sent = requests[`turns-${version} five`] ?? [];
    expect(sent.some((message) => "reasoning" in message)).toBe(true);
    expect(ours).toEqual(sent.filter((message) => !("reasoning" in message)));
  });

  test.each(["0.98", "0.169"])("in a fork of %s", async (version) => {
    const fork = sample(`fork-${version}.jsonl`);
    const imported = await read([sample(`turns-${version}.jsonl`), fork], {
      session:
        version === "0.98" ? "01a20779-fce4-7740-b890-2795738bfab4" : "01a2077a-2e30-7f60-8e16-9c1c805c85e4",
    });
    expect(imported.header.parentSession).toMatch(/^01a207/);
    const sent = requests[`fork-${version}`] ?? [];
    expect(await projectedRequest(imported)).toEqual(sent.filter((message) => !("reasoning" in message)));
  });

  test("in a thread that was reverted, with a subagent", async () => {
    const imported = await read(samplesIn("agents-0.169"));
    expect(await projectedRequest(imported)).toEqual(requests["agents-0.169"]);
    // What was reverted is a branch.
    expect(JSON.stringify(imported.entries)).toContain('"text":"C."');
    expect(imported.children).toHaveLength(1);
  });
});
