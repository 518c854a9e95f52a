import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { commonSecrets, secretRedaction } from "sessile/interop";
import { describe, expect, it } from "vitest";
import { root } from "../../../scripts/entries.mjs";
import { processorMs } from "../../support/processor-time.js";
import { rounds } from "../../support/rounds.js";
import { type Planted, planted } from "./secrets.js";

const all = [...commonSecrets, "home-directory"];
const names = [...commonSecrets.map(({ name }) => name), "home-directory"];
const marker = (name: string) => `[redacted: ${name}]`;

const base64 = (text: string) => Buffer.from(text).toString("base64");
const percented = (text: string) => Buffer.from(text).toString("hex").replace(/../g, "%$&");
const wrapped = (text: string, width: number, separator: string) =>
  (text.match(new RegExp(`[^]{1,${width}}`, "g")) ?? []).join(separator);

/** The ways in which a text stands in a transcript. */
const forms: Readonly<Record<string, (text: string) => string>> = {
  raw: (text) => text,
  "JSON in a string": (text) => JSON.stringify({ text }),
  "JSON in JSON": (text) => JSON.stringify({ arguments: JSON.stringify({ text }) }),
  "JSON in JSON in JSON": (text) => JSON.stringify([JSON.stringify([JSON.stringify([text])])]),
  "JSON with escaped letters": (text) =>
    JSON.stringify({ text }).replace(/[a-f]/g, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`),
  base64: (text) => `data: ${base64(text)}`,
  "base64url in JSON": (text) => JSON.stringify({ data: Buffer.from(text).toString("base64url") }),
  "base64 of JSON": (text) => base64(JSON.stringify({ n: 1, text })),
  "base64 of base64": (text) => base64(`Basic ${base64(text)}`),
  "base64 in base64 in base64": (text) => base64(`a ${base64(`b ${base64(text)}`)}`),
  "base64 behind a path": (text) => `cat/etc/keys/${base64(text)}`,
  "wrapped base64": (text) => wrapped(base64(`first line\n${text}\nlast line`), 76, "\n"),
  "wrapped base64 in JSON": (text) => JSON.stringify({ out: wrapped(base64(`a\n${text}\n`), 64, "\r\n") }),
  "wrapped base64 with numbers": (text) =>
    wrapped(base64(`a\n${text}\n`), 60, "\n")
      .split("\n")
      .map((line, index) => `${String(index + 1).padStart(6)}→${line}`)
      .join("\n"),
  hexadecimal: (text) => `data: ${Buffer.from(text).toString("hex")}`,
  "hexadecimal behind a digit": (text) => `0${Buffer.from(text).toString("hex").toUpperCase()}`,
  "wrapped hexadecimal": (text) => wrapped(Buffer.from(text).toString("hex"), 32, "\n"),
  "base64 of hexadecimal": (text) => base64(`a ${Buffer.from(text).toString("hex")}`),
  "a URL's parameter": (text) => `?q=${encodeURIComponent(text)}`,
  "percent-encoding of each character": percented,
  "percent-encoded JSON": (text) => encodeURIComponent(JSON.stringify({ text })),
  "escapes of C": (text) =>
    text.replace(/./gsu, (each) => Buffer.from(each).toString("hex").replace(/../g, "\\x$&")),
  "references of HTML": (text) => text.replace(/./gsu, (each) => `&#${each.codePointAt(0)};`),
  "HTML with hexadecimal references": (text) =>
    text.replace(/[_.:/-]/g, (each) => `&#x${each.charCodeAt(0).toString(16)};`),
  "colours of a terminal": (text) => wrapped(text, 3, "\u001b[1;31m"),
  "colours of a terminal in JSON": (text) => JSON.stringify({ text: wrapped(text, 5, "\u001b[0m\u001b[K") }),
  "a link of a terminal": (text) => wrapped(text, 7, "\u001b]8;;https://a.example\u0007"),
  "characters without a width": (text) => wrapped(text, 2, "\u200b"),
  "marks of direction in JSON": (text) =>
    JSON.stringify(wrapped(text, 4, "\u2066\u00ad")).replace(
      /[^\0-\x7f]/g,
      (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`,
    ),
  "base64 with colours": (text) => wrapped(base64(text), 9, "\u001b[32m"),
  "lines with numbers": (text) =>
    text
      .split("\n")
      .map((line, index) => `${String(index + 1).padStart(6)}\t${line}`)
      .join("\n"),
};

/** The middles of the base64 of a text at each of three alignments. */
const encodings = (secret: string): readonly string[] =>
  [0, 1, 2].map((shift) => base64(`${"x".repeat(shift)}${secret}`).slice(4, -6));

/** All that can be read out of a text by undoing escapes, lines and base64. */
function readings(text: string, depth = 0): readonly string[] {
  const plain = text
    .replace(
      /\\u([0-9a-f]{4})|(?:\\x|%)([0-9a-f]{2})|&#x([0-9a-f]+);/gi,
      (_, ...digits: (string | undefined)[]) =>
        String.fromCharCode(Number.parseInt(digits.slice(0, 3).join(""), 16)),
    )
    .replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
    // biome-ignore lint/suspicious/noControlCharactersInRegex: sequences of terminals
    .replace(/\u001b(?:\[[\d;]*[A-Za-z]|\][^\u0007]*\u0007)|[\u00ad\u200b\u2066]/g, "");
  const lines = plain.replace(/(?:\\+r)?\\+n|\\*\r?\n/g, "\n");
  const joined = lines.replace(/\n(?:\s*\d+[→\t])?/g, "");
  if (depth === 2) return [text, plain, joined];
  const runs = joined.match(/[A-Za-z0-9+/_-]{12,}/g) ?? [];
  const inner = runs.flatMap((run) =>
    [0, 1, 2, 3].flatMap((offset) =>
      readings(Buffer.from(run.slice(offset), "base64").toString("latin1"), depth + 1),
    ),
  );
  const bytes = runs.flatMap((run) =>
    (run.match(/[0-9a-fA-F]{16,}/g) ?? []).flatMap((digits) =>
      [0, 1].flatMap((offset) =>
        readings(Buffer.from(digits.slice(offset), "hex").toString("latin1"), depth + 1),
      ),
    ),
  );
  return [text, plain, joined, ...inner, ...bytes];
}

function expectGone({ secrets }: Planted, out: string): void {
  const all = readings(out);
  for (const secret of secrets) {
    for (const form of [secret, ...encodings(secret)]) {
      expect(all.some((reading) => reading.includes(form))).toBe(false);
    }
  }
}

const delimiters = ["", " ", "\n", '"', "'", ")", ", ", "`", "> "];
const before = fc.constantFrom(...delimiters, "=", "(", "key: ", "é");
const after = fc.constantFrom(...delimiters, "}", "é");

describe("secretRedaction", () => {
  it("has a made-up secret for each rule", () => {
    expect(Object.keys(planted).sort()).toEqual([...names].sort());
    expect(new Set(names).size).toBe(names.length);
    for (const { name, source } of commonSecrets) {
      expect(name).toMatch(/^[a-z0-9-]+$/);
      expect(source).toMatch(/^https:\/\//);
    }
  });

  it.each(names)("%s: no secret survives in any form, and the rest stays", (name) => {
    const redact = secretRedaction(all);
    // Each form with a third of the rules, or with all of them.
    const each = rounds(1, 200) === 1 ? 3 : 1;
    const cases = fc.tuple(planted[name] as fc.Arbitrary<Planted>, before, after);
    fc.assert(
      fc.property(cases, ([secret, start, end]) => {
        for (const [at, [form, make]] of Object.entries(forms).entries()) {
          if (at % each !== names.indexOf(name) % each) continue;
          const text = make(`${start}${secret.text}${end}`);
          const out = redact(`start of it ${text} end of it`);
          expectGone(secret, out);
          expect(out, form).toMatch(/^start of it .* end of it$/s);
          expect(out, form).toContain("[redacted: ");
          if (form === "raw") expect(out).toContain(marker(name));
          // What was JSON is JSON.
          if (form.startsWith("JSON")) JSON.parse(out.slice("start of it ".length, -" end of it".length));
          expect(redact(out), "redacted twice").toBe(out);
        }
      }),
      { numRuns: rounds(1, 200) },
    );
  });

  it("leaves texts without secrets as they are", () => {
    const redact = secretRedaction();
    fc.assert(
      fc.property(fc.oneof(fc.lorem({ mode: "sentences" }), fc.json(), fc.webUrl(), fc.uuid()), (text) => {
        expect(redact(text)).toBe(text);
      }),
    );
    for (const folder of [
      "src/session/runtime",
      "src/providers/openai",
      "docs/reference",
      "docs/decisions",
    ]) {
      for (const file of readdirSync(join(root, folder), { withFileTypes: true })) {
        if (!file.isFile()) continue;
        const text = readFileSync(join(root, folder, file.name), "utf8");
        expect(redact(text), file.name).toBe(text);
      }
    }
    expect(redact.counts).toEqual({});
  });

  it("redacts an unfinished private key to its last line", () => {
    const key =
      "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEpAIBAAKCAQEA7\nq83vASNFZ4mrze8=\n";
    expect(secretRedaction()(`${key}The output was cut here.`)).toBe(
      `${marker("private-key")}\nThe output was cut here.`,
    );
    const whole = "-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7\n-----END PRIVATE KEY-----";
    expect(secretRedaction()(`a ${whole} b`)).toBe(`a ${marker("private-key")} b`);
    const inJson = JSON.stringify({ key: key.trim() });
    expect(JSON.parse(secretRedaction()(inJson))).toEqual({ key: marker("private-key") });
    expect(secretRedaction()("starts with -----BEGIN PRIVATE KEY----- and so on")).toBe(
      `starts with ${marker("private-key")} and so on`,
    );
  });

  it("takes for a secret what is assigned to such a name, if it looks random", () => {
    const redact = secretRedaction(["assigned-secret"]);
    expect(redact(`DB_PASSWORD=q8Zr2LwX9t api_key: 'k3JtQ0vB'`)).toBe(
      `DB_PASSWORD=${marker("assigned-secret")} api_key: '${marker("assigned-secret")}'`,
    );
    const plain =
      "const token: string = read(token); password = abab1212abab; secret: undefined; api_key=YOUR_KEY";
    expect(redact(plain)).toBe(plain);
    for (const word of ["correct-horse-battery-staple", "2026-11-23T10:45:30.789+01:00"])
      expect(redact(`password: ${word}`)).toBe(`password: ${word}`);
  });

  it("takes a secret to its end and no further: escaped, in base64 at any place, and of three parts", () => {
    const token = `ghp_${"aB3".repeat(12)}`;
    const escaped = token.replaceAll("B", "\\u0042");
    for (const text of [escaped, `${escaped}\\n`, `\\t${escaped}\\u0021`])
      expect(secretRedaction()(`a ${text} tail`)).toBe(
        `a ${text.replace(escaped, marker("github-token"))} tail`,
      );
    for (let before = 0; before < 6; before++) {
      for (let after = 0; after < 6; after++) {
        const bytes = `${"-".repeat(before)} ${token} ${"-".repeat(after)}`;
        const run = base64(bytes);
        const [head = "", tail = ""] = secretRedaction()(`: ${run} :`).split(marker("github-token"));
        const left = run.length - (tail.length - " :".length);
        expect(`${run.slice(left)} :`).toBe(tail);
        expect((left / 4) * 3).toBeGreaterThanOrEqual(before + 1 + token.length);
        expect(((head.length - ": ".length) / 4) * 3).toBeLessThanOrEqual(before + 1);
      }
    }
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const header = part({ alg: "HS256", typ: "JWT" });
    const unsigned = `${header}.${part({ sub: "1234567890", name: "Ann" })}`;
    for (const web of [`${unsigned}.q8Zr2LwX9tk3JtQ0vB`, unsigned])
      expect(secretRedaction()(`jwt ${web} tail`)).toBe(`jwt ${marker("json-web-token")} tail`);
  });

  it("takes overlapping secrets as one, of the first rule among them", () => {
    const rule = (name: string, ...ranges: [number, number][]) => ({
      name,
      source: "https://a.example",
      find: () => ranges,
    });
    const rules = [rule("b", [4, 8], [20, 22]), rule("a", [0, 6]), rule("c", [2, 3], [7, 12])];
    expect(secretRedaction(rules)("0123456789abcdefghijklmn")).toBe(`${marker("b")}cdefghij${marker("b")}mn`);
  });

  it("takes rules by name, of one's own, and expressions, and counts by rule", () => {
    const own = { name: "ticket", source: "https://a.example", find: (): [number, number][] => [[0, 3]] };
    const redact = secretRedaction(["github-token", "home-directory", own, /ACME-(\d+)/i]);
    const token = `ghp_${"a1".repeat(18)}`;
    expect(redact(`abc acme-17 /home/ann ${token} AKIAQWERTYUIOPASDFGH ${token}`)).toBe(
      `${marker("ticket")} acme-${marker("custom")} /home/${marker("home-directory")} ${marker("github-token")} AKIAQWERTYUIOPASDFGH ${marker("github-token")}`,
    );
    expect(redact.counts).toEqual({ ticket: 1, custom: 1, "home-directory": 1, "github-token": 2 });
    expect(() => secretRedaction(["github"])).toThrow(
      /rules\[0\]: expected one of private-key, .*got "github"/,
    );
    // @ts-expect-error -- a number is no rule
    expect(() => secretRedaction([1])).toThrow(/rules\[0\]/);
    for (const wrong of [{ name: "a b" }, { name: "]a" }, { name: 5 }, { find: undefined }, { has: ["é"] }])
      expect(() => secretRedaction([{ ...own, ...wrong } as never])).toThrow(/rules\[0\]: expected a rule/);
  });

  it("finds user names in paths of every system", () => {
    const redact = secretRedaction(["home-directory"]);
    const name = marker("home-directory");
    expect(redact("/Users/ann/a C:\\Users\\ann\\a C:\\\\Users\\\\ann /home/ann projects/-home-ann-app")).toBe(
      `/Users/${name}/a C:\\Users\\${name}\\a C:\\\\Users\\\\${name} /home/${name} projects/-home-${name}-app`,
    );
    expect(redact("/home/ and /home/$USER and /usr/home2/x")).toBe("/home/ and /home/$USER and /usr/home2/x");
  });

  it("takes hostile texts without an error, in little time", () => {
    const redact = secretRedaction(all);
    const pieces = [
      ...[
        "sk-",
        "eyJ",
        "eyJ.",
        "://a:",
        "authorization: ",
        "secret",
        "-----BEGIN PRIVATE KEY-----",
        "\\",
        "\\n",
        "\\u",
      ],
      ...[
        "A",
        "A\n",
        "AAAAAAAAAAAAAAAA\n",
        "glpat-",
        "ops_eyJ",
        "/home/",
        "password=a1",
        "-",
        "--",
        " ",
        "\n",
        "1→",
        "=",
        "%25",
        "%41\\",
        "&amp;",
        "&amp;\u001b[m%41\\n",
        "\u001b[",
        "\u200b",
        "4142",
      ],
    ];
    const started = processorMs();
    for (const piece of pieces) redact(piece.repeat(100_000 / piece.length));
    for (const piece of pieces) redact(base64(piece.repeat(50_000 / piece.length)));
    expect(processorMs() - started).toBeLessThan(10_000);
  });
});
