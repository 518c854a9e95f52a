import fc from "fast-check";
import { userMessage } from "sessile/content";
import { evaluatePermission, memorySessionStore, type PermissionRule } from "sessile/session";
import { describe, expect, it } from "vitest";
import { withApproval } from "../../src/session/runtime/session-info.js";

const symbols = fc.string({
  unit: fc.constantFrom("a", "b", " ", "*", "?", ".", "/", "\n", "é"),
  maxLength: 8,
});
const action = fc.constantFrom("allow" as const, "deny" as const, "ask" as const);
const rule: fc.Arbitrary<PermissionRule> = fc.record({ permission: symbols, pattern: symbols, action });
const rules = fc.array(rule, { maxLength: 5 });

/** What a wildcard means, as a regular expression. */
function matches(pattern: string, text: string): boolean {
  const source = pattern
    .replace(/[.+^${}()|[\]\\/]/g, "\\$&")
    .replaceAll("*", "[^]*")
    .replaceAll("?", "[^]");
  return new RegExp(`^${source}$`).test(text);
}

describe("evaluatePermission", () => {
  // @covers R154
  it("lets the last rule that matches decide, and asks where none does", () => {
    fc.assert(
      fc.property(rules, symbols, symbols, (all, permission, subject) => {
        const last = all.findLast(
          (one) => matches(one.permission, permission) && matches(one.pattern, subject),
        );
        expect(evaluatePermission(all, permission, subject)).toBe(last?.action ?? "ask");
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ["git *", "git status", true],
    ["git *", "git ", true],
    ["git *", "git", false],
    ["git *", "agit status", false],
    ["*.ts", "src/a.ts", true],
    ["*.ts", "src/a.tsx", false],
    ["a?c", "abc", true],
    ["a?c", "ac", false],
    ["", "", true],
    ["", "a", false],
    ["**", "", true],
    ["a*b*c", "a-b-b-c", true],
    ["a.c", "abc", false],
    ["*", "two\nlines", true],
  ])("takes %j as a pattern of %j: %j", (pattern, subject, allowed) => {
    const only = [{ permission: "bash", pattern, action: "allow" }] as const;
    expect(evaluatePermission(only, "bash", subject)).toBe(allowed ? "allow" : "ask");
    expect(evaluatePermission(only, "edit", subject)).toBe("ask");
  });

  it("takes time in proportion to pattern and subject, at the worst", () => {
    const pattern = `${"*a".repeat(200)}b`;
    const started = performance.now();
    const only = [{ permission: "*", pattern, action: "deny" }] as const;
    expect(evaluatePermission(only, "bash", "a".repeat(20_000))).toBe("ask");
    // A matcher that tries every way to cut the subject would not come back.
    expect(performance.now() - started).toBeLessThan(2000);
  });
});

describe("withApproval", () => {
  it("allows what it approves, and leaves every other answer as it was", () => {
    fc.assert(
      fc.property(rules, symbols, symbols, symbols, symbols, (all, permission, pattern, asked, subject) => {
        const after = withApproval(all, { permission, pattern });
        const approved = matches(permission, asked) && matches(pattern, subject);
        const before = evaluatePermission(all, asked, subject);
        expect(evaluatePermission(after, asked, subject)).toBe(approved ? "allow" : before);
      }),
      { numRuns: 2000 },
    );
  });

  it("adds a rule once, and drops no other", () => {
    fc.assert(
      fc.property(rules, rule, ({ length }, { permission, pattern }) => {
        const allow = { permission, pattern, action: "allow" } as const;
        const deny = { permission, pattern, action: "deny" } as const;
        const all = Array.from({ length }, (_, index) => (index % 2 === 0 ? deny : allow));
        const once = withApproval(all, { permission, pattern });
        expect(withApproval(once, { permission, pattern })).toEqual(once);
        expect(once).toEqual([...all.filter((one) => one === deny), allow]);
      }),
    );
  });
});

describe("approveAlways", () => {
  it("keeps an approval in the session, behind the rules that are there", async () => {
    const sessions = memorySessionStore();
    const session = await sessions.create({ cwd: "/work" });
    await session.appendMessage(userMessage("start"));
    await session.updateInfo({ permission: [{ permission: "bash", pattern: "*", action: "deny" }] });
    const info = await session.approveAlways({ permission: "bash", pattern: "git *" });
    expect(info.permission).toEqual([
      { permission: "bash", pattern: "*", action: "deny" },
      { permission: "bash", pattern: "git *", action: "allow" },
    ]);
    await session.close();
    const again = await sessions.open(session.id);
    expect(evaluatePermission(again.info.permission ?? [], "bash", "git status")).toBe("allow");
    expect(evaluatePermission(again.info.permission ?? [], "bash", "rm -rf /")).toBe("deny");
  });

  // @covers R154
  it("keeps all approvals of one moment", async () => {
    const session = await memorySessionStore().create({ cwd: "/work" });
    const patterns = ["a *", "b *", "c *"];
    await Promise.all(patterns.map((pattern) => session.approveAlways({ permission: "bash", pattern })));
    expect(session.info.permission?.map(({ pattern }) => pattern)).toEqual(patterns);
  });
});
