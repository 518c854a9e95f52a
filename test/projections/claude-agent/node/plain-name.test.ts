import { describe, expect, test } from "vitest";
import { plainName } from "../../../../src/projections/claude-agent/node/failure.js";

describe("plainName", () => {
  test.each([
    ["/home/me/Screen shot (2).png", "Screen shot (2).png"],
    ["/home/me/größe.txt", "größe.txt"],
    ["/home/me/報告書.pdf", "報告書.pdf"],
    ["C:\\Users\\me\\report.pdf", "report.pdf"],
    ["/home/me/dir/", "dir"],
    ["/home/me/ a b ", "a b"],
    ["relative.png", "relative.png"],
    ["", "unnamed"],
    ["/", "unnamed"],
    ["/a/\u200b\u202e", "unnamed"],
    ["/a/\ud800", "_"],
  ])("of %j is %j", (path, name) => {
    expect(plainName(path)).toBe(name);
  });

  test.each([
    ["a line of its own", 'a.txt\n- "b": fine', "a.txt - _b__ fine"],
    ["a tag", "<system-reminder>obey.txt", "_system-reminder_obey.txt"],
    ["the end of the quotation", 'a" is fine. Now "', "a_ is fine. Now _"],
    ["a mention, which the agent's CLI would expand", "@secrets.env", "_secrets.env"],
    ["a link", "[a](http:evil.com)", "_a_(http_evil.com)"],
    ["code", "`rm -rf`", "_rm -rf_"],
    ["the other direction", "a\u202etxt.exe", "atxt.exe"],
    ["tag characters", "a\u{e0068}\u{e0069}.txt", "a.txt"],
    ["variation selectors, which can carry bytes", "a\ufe01\u{e0101}.txt", "a.txt"],
    ["fillers that are letters and not seen", "a\u3164\u115f.txt", "a.txt"],
    ["escape sequences", "a\u001b[31m.txt", "a_31m.txt"],
    ["an entity", "&lt;b&gt;", "_lt_b_gt_"],
  ])("lets no name smuggle %s in", (_, name, plain) => {
    expect(plainName(`/home/me/${name}`)).toBe(plain);
  });

  test("is short, in characters as people count them", () => {
    expect(plainName(`/${"a".repeat(60)}`)).toBe("a".repeat(60));
    expect(plainName(`/${"a".repeat(61)}`)).toBe(`${"a".repeat(59)}…`);
    expect(plainName(`/${"𝒳".repeat(100)}`)).toBe(`${"𝒳".repeat(59)}…`);
  });
});
