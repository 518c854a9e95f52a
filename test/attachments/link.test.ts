import fc from "fast-check";
import { SessileError } from "sessile/errors";
import { describe, expect, test } from "vitest";
import { linkResource, linkUri } from "../../src/attachments/link.js";
import { failureOf } from "./samples.js";

describe("linkUri", () => {
  test.each([
    [
      "https://user@example.com/context/report.pdf?download=true#fragment",
      "https://example.com/context/report.pdf",
    ],
    ["https://user:secret@example.com", "https://example.com/"],
    ["HTTP://EXAMPLE.com:8080/A/../b", "http://example.com:8080/b"],
    ["https://example.com:443/a", "https://example.com/a"],
    ["https://grüße.example/ä b", "https://xn--gre-6ka8l.example/%C3%A4%20b"],
    ["  https://example.com/a?token=secret  ", "https://example.com/a"],
  ])("of %s keeps %s", (link, uri) => {
    expect(linkUri(link)).toBe(uri);
  });

  test.each([
    ["DATA:image/png;base64,c2VjcmV0", "data"],
    ["da\nta:image/png;base64,c2VjcmV0", "data"],
    ["file:///etc/passwd", "file"],
    ["javascript:alert(1)", "scheme"],
    ["ftp://example.com/a", "scheme"],
    ["mailto:a@example.com", "scheme"],
    ["report.pdf", "malformed"],
    ["//example.com/a", "malformed"],
    ["https://", "malformed"],
    ["", "malformed"],
    [`https://example.com/${"a".repeat(1000)}`, "tooLong"],
  ])("refuses %j: %s", async (link, reason) => {
    expect(await failureOf(() => linkUri(link))).toEqual({ code: "LINK_REFUSED", details: { reason } });
  });

  test("takes 1000 bytes, and not one more", async () => {
    const path = "a".repeat(1000 - "https://example.com/".length);
    expect(linkUri(`https://example.com/${path}?${"q".repeat(10_000)}`)).toHaveLength(1000);
    await failureOf(() => linkUri(`https://example.com/${path}a`));
  });

  test("does not repeat what it refuses", () => {
    const secret = "c2VjcmV0".repeat(1000);
    for (const link of [`data:image/png;base64,${secret}`, `x://${secret}`, secret]) {
      try {
        linkUri(link);
        expect.fail("it was taken");
      } catch (error) {
        expect(String(error) + JSON.stringify(error)).not.toContain("c2VjcmV0");
        expect(error).toBeInstanceOf(SessileError);
      }
    }
  });

  test("keeps nothing of user, query and fragment, and nothing changes the second time", () => {
    fc.assert(
      fc.property(
        fc.webUrl({ withQueryParameters: true, withFragments: true, validSchemes: ["http", "https"] }),
        fc.constantFrom("", "user@", "user:pass@"),
        (address, user) => {
          const link = address.replace("://", `://${user}`);
          fc.pre(URL.canParse(link) && link.length < 900);
          const uri = linkUri(link);
          const { username, password, search, hash, host, pathname } = new URL(uri);
          expect([username, password, search, hash]).toEqual(["", "", "", ""]);
          expect({ host, pathname }).toEqual({ host: new URL(link).host, pathname: new URL(link).pathname });
          expect(linkUri(uri)).toBe(uri);
        },
      ),
    );
  });
});

describe("linkResource", () => {
  test("has no bytes, and says so by having no fields for them", () => {
    expect(linkResource("https://a.example/x?y", { resourceId: "res_0000000000000001", name: "x" })).toEqual({
      resourceId: "res_0000000000000001",
      kind: "link",
      name: "x",
      uri: "https://a.example/x",
      source: "link",
    });
  });
});
